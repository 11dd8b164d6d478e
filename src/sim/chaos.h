#pragma once

#include <cstdint>
#include <string>

namespace lockstep::sim {

// A random world with random faults, told as a scenario, so that it can be read, played again, made smaller
// and kept. Equal seeds tell equal stories.
//
// Storms of crashes, lost and late writes, broken watches and sick nodes change with calms that are long
// enough for everything to be judged that must come true. At the end all is well again, and every job ends or
// has a reason that no time removes. Jobs whose end does not depend on time are held to it, whatever crashed.
std::string TellChaos(uint64_t seed);

}  // namespace lockstep::sim
