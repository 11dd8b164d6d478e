#include "apiserver/selection.h"

#include <algorithm>

#include "apiserver/errors.h"

namespace lockstep::apiserver {

using kube::Resource;
using kube::Status;

namespace {

// Cuts at commas that no backslash escapes; the parts keep their escapes.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '\\') {
      ++i;
    } else if (i >= text.size() || text[i] == ',') {
      size_t end = std::min(i, text.size());
      if (end > begin) terms.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return terms;
}

Result<std::string, Status> Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '\\' && text[i] != ',' && text[i] != '=')) {
        return BadRequest("invalid field selector: invalid escape sequence in " + Quoted(text));
      }
    } else if (text[i] == '=') {
      return BadRequest("invalid field selector: unescaped = in " + Quoted(text));
    }
    out += text[i];
  }
  return out;
}

Result<Selection::Field, Status> ParseTerm(const Resource& resource, std::string_view term) {
  size_t at = term.find('=');
  if (at == std::string_view::npos) {
    return BadRequest("invalid selector: '" + std::string(term) + "'; can't understand '" +
                      std::string(term) + "'");
  }
  Selection::Field field;
  std::string_view name = term.substr(0, at);
  std::string_view value = term.substr(at + 1);
  if (name.ends_with('!')) {
    name.remove_suffix(1);
    field.equal = false;
  } else if (value.starts_with('=')) {
    value.remove_prefix(1);
  }
  Result<std::string, Status> plain = Unescape(value);
  if (!plain.ok()) return plain.error();
  field.value = *std::move(plain);
  auto names = FieldNames(resource);
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return BadRequest("field label not supported: " + std::string(name));
  field.index = static_cast<size_t>(found - names.begin());
  return field;
}

}  // namespace

bool Selection::Matches(const Object& object) const {
  if (!ns.empty() && object.ns != ns) return false;
  for (const Field& field : fields) {
    if ((object.fields[field.index] == field.value) != field.equal) return false;
  }
  return labels.requirements.empty() || labels.Matches(object.labels);
}

const std::string* Selection::Fixed(const Resource& resource, std::string_view name) const {
  for (const Field& field : fields) {
    if (field.equal && FieldNames(resource)[field.index] == name) return &field.value;
  }
  return nullptr;
}

Result<Selection, Status> ParseSelection(const Resource& resource, std::string ns,
                                         std::string_view label_selector, std::string_view field_selector) {
  Selection selection;
  selection.ns = std::move(ns);
  if (!label_selector.empty()) {
    Result<kube::LabelSelector> labels = kube::ParseLabelSelector(label_selector);
    if (!labels.ok()) return BadRequest("unable to parse requirement: " + labels.error().message);
    selection.labels = *std::move(labels);
  }
  for (std::string_view term : SplitTerms(field_selector)) {
    Result<Selection::Field, Status> field = ParseTerm(resource, term);
    if (!field.ok()) return field.error();
    selection.fields.push_back(*std::move(field));
  }
  return selection;
}

}  // namespace lockstep::apiserver
