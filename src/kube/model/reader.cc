#include "kube/model/reader.h"

namespace lockstep::kube {

using json::Doc;

std::string Join(std::string_view path, std::string_view key) {
  std::string joined(path);
  if (!joined.empty()) joined += '.';
  return joined.append(key);
}

std::string Join(std::string_view path, size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

void Reader::FailWith(std::string message) {
  if (!error_) error_ = Error{std::move(message)};
}

void Reader::Fail(std::string_view path, std::string_view what) {
  FailWith(std::string(path) + ": " + std::string(what));
}

const Doc* Reader::Field(const Doc& object, std::string_view key) {
  const Doc* field = object.is_object() ? json::Key(&object, key) : nullptr;
  return field != nullptr && field->is_null() ? nullptr : field;
}

std::string Reader::Text(const Doc& object, std::string_view path, std::string_view key) {
  const Doc* field = Field(object, key);
  if (field == nullptr) return {};
  if (field->is_string()) return field->get<std::string>();
  Fail(Join(path, key), std::string("must be a string, is ") + field->type_name());
  return {};
}

std::optional<int64_t> Reader::Int(const Doc& object, std::string_view path, std::string_view key) {
  const Doc* field = Field(object, key);
  if (field == nullptr) return std::nullopt;
  bool too_large = field->is_number_unsigned() && field->get<uint64_t>() > INT64_MAX;
  if (field->is_number_integer() && !too_large) return field->get<int64_t>();
  Fail(Join(path, key), "must be an integer, is " +
                            (field->is_number() ? json::Dump(*field) : std::string(field->type_name())));
  return std::nullopt;
}

bool Reader::Bool(const Doc& object, std::string_view path, std::string_view key) {
  const Doc* field = Field(object, key);
  if (field == nullptr) return false;
  if (field->is_boolean()) return field->get<bool>();
  Fail(Join(path, key), std::string("must be true or false, is ") + field->type_name());
  return false;
}

const Doc* Reader::Object(const Doc& object, std::string_view path, std::string_view key) {
  const Doc* field = Field(object, key);
  if (field == nullptr || field->is_object()) return field;
  Fail(Join(path, key), std::string("must be an object, is ") + field->type_name());
  return nullptr;
}

std::vector<const Doc*> Reader::Objects(const Doc& object, std::string_view path, std::string_view key) {
  std::vector<const Doc*> elements;
  const Doc* field = Field(object, key);
  if (field == nullptr) return elements;
  if (!field->is_array()) {
    Fail(Join(path, key), std::string("must be an array, is ") + field->type_name());
    return elements;
  }
  elements.reserve(field->size());
  for (const Doc& element : *field) {
    if (!element.is_object()) {
      Fail(Join(Join(path, key), elements.size()),
           std::string("must be an object, is ") + element.type_name());
      return {};
    }
    elements.push_back(&element);
  }
  return elements;
}

std::vector<std::string> Reader::Texts(const Doc& object, std::string_view path, std::string_view key) {
  std::vector<std::string> texts;
  const Doc* field = Field(object, key);
  if (field == nullptr) return texts;
  if (!field->is_array()) {
    Fail(Join(path, key), std::string("must be an array, is ") + field->type_name());
    return texts;
  }
  for (const Doc& element : *field) {
    if (!element.is_string()) {
      Fail(Join(Join(path, key), texts.size()), std::string("must be a string, is ") + element.type_name());
      return {};
    }
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

}  // namespace lockstep::kube
