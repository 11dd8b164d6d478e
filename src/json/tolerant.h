#pragma once

#include "json/doc.h"

// For what an API server sends: users may store in their objects numbers beyond 64 bits and nest as deep as
// they like, and one such object in a list of many must not make all of them unreadable.
namespace lockstep::json {

// As Parse, for up to 1 GiB; what nests deeper than Limits allows is left out, or null, and is no error.
Result<Doc> ParseTolerant(std::string_view text);

// Whether the text is one whole JSON value, however deep, and however large its numbers.
bool IsWhole(std::string_view text);

}  // namespace lockstep::json
