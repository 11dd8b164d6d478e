#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "json/doc.h"

// Builders for structural OpenAPI schemas, so that a CRD in C++ reads like its documentation.
namespace lockstep::api::schema {

json::Doc Text(std::string description);
json::Doc Enum(std::string description, std::initializer_list<const char*> values);
json::Doc Int32(std::string description);
json::Doc Int64(std::string description);
json::Doc Bool(std::string description);
json::Doc Time(std::string description);
// A resource.Quantity: number or string.
json::Doc Quantity(std::string description);
json::Doc List(std::string description, json::Doc items);
json::Doc Map(std::string description, json::Doc values);
// Anything at all is kept as it is.
json::Doc FreeObject(std::string description);

using Field = std::pair<const char*, json::Doc>;
json::Doc Object(std::string description, std::initializer_list<Field> fields,
                 std::initializer_list<const char*> required = {});
// `schema` with another keyword: With(Int32("..."), "minimum", 0).
json::Doc With(json::Doc schema, const char* keyword, json::Doc value);

// The whole object's schema: apiVersion, kind, metadata, spec and status.
json::Doc Root(std::string description, json::Doc spec, json::Doc status, bool spec_required);

// An additionalPrinterColumns entry. Priority 0 is always shown, 1 with -o wide.
json::Doc Column(const char* name, const char* type, const char* path, const char* description,
                 int priority = 0);

}  // namespace lockstep::api::schema
