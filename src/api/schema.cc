#include "api/schema.h"

namespace lockstep::api::schema {

namespace {

using json::Doc;

// Upstream's kinds have fields without a description.
Doc Typed(const char* type, std::string description) {
  Doc schema = {{"type", type}};
  if (!description.empty()) schema["description"] = std::move(description);
  return schema;
}

}  // namespace

Doc Text(std::string description) { return Typed("string", std::move(description)); }

Doc Enum(std::string description, std::initializer_list<const char*> values) {
  Doc schema = Text(std::move(description));
  schema["enum"] = Doc::array();
  for (const char* value : values) schema["enum"].push_back(value);
  return schema;
}

Doc Int32(std::string description) {
  return With(Typed("integer", std::move(description)), "format", "int32");
}
Doc Int64(std::string description) {
  return With(Typed("integer", std::move(description)), "format", "int64");
}
Doc Bool(std::string description) { return Typed("boolean", std::move(description)); }
Doc Time(std::string description) { return With(Text(std::move(description)), "format", "date-time"); }

Doc Quantity(std::string description) {
  Doc schema = Doc::object();
  if (!description.empty()) schema["description"] = std::move(description);
  schema["anyOf"] = {{{"type", "integer"}}, {{"type", "string"}}};
  schema["pattern"] =
      R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";
  schema["x-kubernetes-int-or-string"] = true;
  return schema;
}

Doc List(std::string description, Doc items) {
  return With(Typed("array", std::move(description)), "items", std::move(items));
}

Doc Map(std::string description, Doc values) {
  return With(Typed("object", std::move(description)), "additionalProperties", std::move(values));
}

Doc FreeObject(std::string description) {
  return With(Typed("object", std::move(description)), "x-kubernetes-preserve-unknown-fields", true);
}

Doc Object(std::string description, std::initializer_list<Field> fields,
           std::initializer_list<const char*> required) {
  Doc schema = Typed("object", std::move(description));
  for (const Field& field : fields) schema["properties"][field.first] = field.second;
  for (const char* name : required) schema["required"].push_back(name);
  return schema;
}

Doc With(Doc schema, const char* keyword, Doc value) {
  schema[keyword] = std::move(value);
  return schema;
}

Doc Root(std::string description, Doc spec, Doc status, bool spec_required) {
  Doc root =
      Object(std::move(description),
             {{"apiVersion", Text("The group and version of this object, as in every Kubernetes object.")},
              {"kind", Text("The kind of this object, as in every Kubernetes object.")},
              {"metadata", Typed("object", "")},
              {"spec", std::move(spec)},
              {"status", std::move(status)}});
  if (spec_required) root["required"] = Doc::array({"spec"});
  return root;
}

Doc Column(const char* name, const char* type, const char* path, const char* description, int priority) {
  Doc column = {{"name", name}, {"type", type}, {"jsonPath", path}};
  if (*description != '\0') column["description"] = description;
  if (priority != 0) column["priority"] = priority;
  return column;
}

}  // namespace lockstep::api::schema
