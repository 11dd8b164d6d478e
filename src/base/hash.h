#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

// FNV-1a, 64 bits. Used where a hash must be the same on every machine and in every run: shortened names,
// cache keys that are stored, jitter. Not for hostile keys in hash tables.
constexpr uint64_t StableHash(std::string_view text, uint64_t seed = 0xcbf29ce484222325u) {
  uint64_t hash = seed;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// A number in [0, bound) that depends only on its inputs: jitter without randomness. bound > 0.
constexpr uint64_t StableJitter(std::string_view who, uint64_t attempt, uint64_t bound) {
  uint64_t x = StableHash(who) ^ (attempt * 0x9e3779b97f4a7c15u);
  x ^= x >> 31;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 29;
  return x % bound;
}

}  // namespace lockstep
