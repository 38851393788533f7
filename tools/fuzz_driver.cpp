// A small fuzzing driver for compilers without libFuzzer: takes the files of a folder as seeds, changes
// them at random, and runs the target until the time is over.
//     TARGET SECONDS FOLDER        fuzz
//     TARGET FILE                  run one input
// The input being run is kept beside the seeds as "current"; when the target crashes or hangs, it is the culprit.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One that takes longer than this hangs: the alarm ends the process.
constexpr unsigned kSecondsPerInput = 20;

void run(const std::string& input) {
  alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

/// A few random changes: bytes, pieces repeated, removed, moved, and text that parsers care about.
std::string mutate(std::string input, const std::vector<std::string>& seeds, Random& random) {
  static const char* const kWords[] = {"\"",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "0",
                                       "-1",
                                       "1e400",
                                       "18446744073709551616",
                                       "null",
                                       "\\u0000",
                                       "\xff",
                                       "\n",
                                       "nodes",
                                       "traceEvents",
                                       "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
                                       "NaN",
                                       "\\",
                                       "true"};
  for (size_t changes = 1 + random.below(6); changes > 0; --changes) {
    const size_t at = random.below(input.size() + 1);
    switch (random.below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random.next());
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
        break;
      case 2: input.insert(at, kWords[random.below(std::size(kWords))]); break;
      case 3: input.erase(at, random.below(32)); break;
      case 4: input.resize(at); break;
      case 5: input.insert(at, input.substr(random.below(input.size() + 1), random.below(64))); break;
      case 6: input.insert(at, 1, static_cast<char>(random.next())); break;
      default: {
        const std::string& other = seeds[random.below(seeds.size())];
        const size_t from = random.below(other.size() + 1);
        input = input.substr(0, at) + other.substr(from, random.below(4096));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(read(argv[1])), 0;
  if (argc != 3) return std::fprintf(stderr, "usage: %s SECONDS FOLDER | FILE\n", argv[0]), 2;
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2]))
    if (entry.is_regular_file() && entry.path().filename() != "current") seeds.push_back(read(entry.path()));
  if (seeds.empty()) seeds.emplace_back();
  const std::string current = std::string(argv[2]) + "/current";
  Random random{static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) | 1};
  std::printf("seed %llu, %zu inputs to begin with\n", static_cast<unsigned long long>(random.state), seeds.size());
  for (const std::string& seed : seeds) run(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  uint64_t runs = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::string input = mutate(seeds[random.below(seeds.size())], seeds, random);
    std::ofstream(current, std::ios::binary) << input;
    run(input);
    ++runs;
  }
  std::filesystem::remove(current);
  std::printf("%llu inputs, no finding\n", static_cast<unsigned long long>(runs));
}
