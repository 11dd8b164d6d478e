#pragma once

namespace lockstep {

// The checkout that a test was built from, for its data files. Defined in a file of its own that the build
// writes: the path must not be in the command line of every test, where it would make the compiler's cache
// useless to another checkout. Only tests are linked with it.
extern const char* const kSourceDir;

}  // namespace lockstep
