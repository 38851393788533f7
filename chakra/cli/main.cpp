#include "chakra/cli/cli.h"

int main(int argc, char** argv) { return chakra::cli::run(argc, argv); }
