#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object.h"
#include "base/result.h"
#include "kube/api/status.h"
#include "kube/model/selector.h"

namespace lockstep::apiserver {

// What a list or a watch asks for: a namespace (empty: all), labels and fields.
struct Selection {
  struct Field {
    size_t index = 0;  // into FieldNames of the resource
    bool equal = true;
    std::string value;
  };

  std::string ns;
  kube::LabelSelector labels;
  std::vector<Field> fields;

  bool Matches(const Object& object) const;
  // The only value that this field may have, or null if the selection doesn't fix it.
  const std::string* Fixed(const kube::Resource& resource, std::string_view field) const;
};

// Errors are the 400 of the server. Fields compare by =, == and !=; a backslash escapes a comma, an equals
// sign or itself. Source: k8s.io/apimachinery/pkg/fields.
Result<Selection, kube::Status> ParseSelection(const kube::Resource& resource, std::string ns,
                                               std::string_view label_selector,
                                               std::string_view field_selector);

}  // namespace lockstep::apiserver
