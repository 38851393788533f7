// chakra/options.h and facade/fields.cpp are made from the rows of the calls' options: a struct for each verb, a member
// and its comment for each row. The test writes them where CHAKRA_WRITE_OPTIONS is set.
#pragma once

#include <string>

namespace chakra::facade::testing {

std::string options_header();  ///< chakra/options.h
std::string fields_source();   ///< chakra/facade/fields.cpp

}  // namespace chakra::facade::testing
