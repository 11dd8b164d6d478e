// Runs a fuzz target on stored inputs instead of searching for new ones: on each file of the folders named as
// arguments, and on each of its beginnings, for a cut text is what a broken connection leaves.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// Longer inputs are cut at this many evenly spread places.
constexpr size_t kMaxCuts = 500;

void Replay(const std::string& input) {
  size_t step = input.size() / kMaxCuts + 1;
  for (size_t size = 0; size < input.size(); size += step) {
    std::string cut = input.substr(0, size);  // a copy of its own, so that reading past its end is seen
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(cut.data()), cut.size());
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      Replay({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
      ++count;
    }
  }
  std::printf("%zu inputs replayed\n", count);
  return count > 0 ? 0 : 1;
}
