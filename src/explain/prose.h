#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/doc.h"
#include "kube/model/quantity.h"

// How facts are put into words, the same in every answer.
namespace lockstep::explain {

// "1 pod", "2 pods".
std::string Counted(int64_t count, const std::string& one, const std::string& many);
// "2nd", "11th".
std::string Ordinal(int64_t number);
// "a", "a and b", "a, b and c"; more than four: "a, b, c and 2 more".
std::string Listed(const std::vector<std::string>& names, const char* last = " and ");
// "a moment", "5 minutes", "2 hours": as exact as a person wants it.
std::string Ago(Duration duration);
// "8 nvidia.com/gpu, 64 cpu, 512Gi memory": devices first, nothing of which there is none.
std::string AmountsText(const kube::Resources& amounts);
json::Doc AmountsDoc(const kube::Resources& amounts);  // resource to quantity
// "  title     body".
void Line(std::string& text, std::string_view title, const std::string& body);

}  // namespace lockstep::explain
