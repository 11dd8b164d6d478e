#include "api/crd.h"
#include "json/yaml.h"

namespace lockstep::api {

namespace {

using json::Doc;

std::string TypeText(const Doc& schema) {
  if (json::GetBool(schema, "x-kubernetes-int-or-string")) return "quantity";
  std::string type = json::GetString(schema, "type");
  if (json::GetString(schema, "format") == "date-time") return "time";
  if (const Doc* items = json::Key(&schema, "items")) return "list of " + TypeText(*items);
  if (const Doc* values = json::Key(&schema, "additionalProperties")) return "map of " + TypeText(*values);
  std::string format = json::GetString(schema, "format");
  return format.empty() ? type : format;
}

// A '|' would end the cell of the table.
std::string Cell(std::string text) {
  for (size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

void AppendFields(std::string& out, const Doc& schema, const std::string& path) {
  const Doc* properties = json::Key(&schema, "properties");
  if (properties != nullptr) {
    for (const auto& [name, field] : properties->items()) {
      std::string at = path + name;
      out += "| `" + at + "` | " + TypeText(field) + " | " + Cell(json::GetString(field, "description")) +
             " |\n";
      AppendFields(out, field, at + ".");
    }
    return;
  }
  std::string inside = path.substr(0, path.size() - 1);
  if (const Doc* items = json::Key(&schema, "items")) AppendFields(out, *items, inside + "[].");
  if (const Doc* values = json::Key(&schema, "additionalProperties"))
    AppendFields(out, *values, inside + ".*.");
}

void AppendColumns(std::string& out, const Doc& version) {
  out += "Columns of `kubectl get`:";
  const char* separator = " ";
  for (const Doc& column : *json::Key(&version, "additionalPrinterColumns")) {
    out += separator + json::GetString(column, "name");
    if (json::GetInt(column, "priority") > 0) out += " (with `-o wide`)";
    separator = ", ";
  }
  out += ".\n\n";
}

void AppendKind(std::string& out, const Doc& crd) {
  const Doc& version = crd["spec"]["versions"][0];
  const Doc& root = version["schema"]["openAPIV3Schema"];
  out += "## " + json::GetString(crd, "spec.names.kind") + "\n\n";
  out += "`" + json::GetString(crd, "spec.group") + "/" + json::GetString(version, "name") + "`, ";
  out += json::GetString(crd, "spec.scope") == "Namespaced" ? "namespaced" : "cluster-wide";
  if (const Doc* names = json::Find(crd, "spec.names.shortNames")) {
    for (const Doc& name : *names) out += ", short name `" + name.get<std::string>() + "`";
  }
  out += ". " + json::GetString(root, "description") + "\n\n";
  AppendColumns(out, version);
  for (const char* part : {"spec", "status"}) {
    const Doc& schema = root["properties"][part];
    out += "### " + std::string(part) + "\n\n" + json::GetString(schema, "description") + "\n\n";
    out += "| field | type | meaning |\n|---|---|---|\n";
    AppendFields(out, schema, std::string(part) + ".");
    out += "\n";
  }
}

}  // namespace

std::string CrdYaml(const json::Doc& crd) { return "# Printed by `lockstep crds`.\n" + json::DumpYaml(crd); }

std::string ApiMarkdown() {
  std::string out = "# API\n\nPrinted by `lockstep crds --markdown` from the CustomResourceDefinitions.\n\n";
  for (const Doc& crd : Crds()) AppendKind(out, crd);
  out.pop_back();
  return out;
}

}  // namespace lockstep::api
