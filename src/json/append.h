#pragma once

#include <string>

#include "json/doc.h"

namespace lockstep::json {

// Appends what Dump would give: no text is made only to be copied.
void DumpTo(std::string& out, const Doc& doc);

}  // namespace lockstep::json
