#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/doc.h"

namespace lockstep::kube {

// An amount of a resource in thousandths: 1 GPU is 1000, 1 CPU is 1000, 1 byte is 1000. Fixed point, so sums
// are exact. Amounts saturate at kMaxAmount (9.2 PB of memory, 9.2e15 of anything else): larger ones never
// fit.
using Amount = int64_t;
inline constexpr Amount kMaxAmount = INT64_MAX;

// The whole grammar of resource.Quantity: sign, decimals, suffixes n u m k M G T P E Ki Mi Gi Ti Pi Ei, and
// exponents (1e3, 1E-3). A fraction of a thousandth is rounded away from zero, as Kubernetes rounds a value
// up. Bounded input: at most 64 characters. Source: k8s.io/apimachinery/pkg/api/resource/quantity.go.
Result<Amount> ParseQuantity(std::string_view text);
inline Result<Amount> ParseQuantity(const char* text) { return ParseQuantity(std::string_view(text)); }
inline Result<Amount> ParseQuantity(const std::string& text) { return ParseQuantity(std::string_view(text)); }
// A quantity of a document: a string (white space around it is allowed, as in Kubernetes) or a number; null
// is 0.
Result<Amount> ParseQuantity(const json::Doc& value);

// An exponent beyond ±999. kube-apiserver computes such a power of ten digit by digit, for minutes and
// gigabytes at 1e3000000000; nobody needs one.
bool HasHugeExponent(const json::Doc& value);

// Canonical text: "8", "500m", "20Mi" (binary suffix where exact and `binary`).
std::string FormatQuantity(Amount amount, bool binary = false);

// Both saturate.
Amount AddAmounts(Amount a, Amount b);
Amount MultiplyAmount(Amount a, int64_t times);

// Resource name to amount, as in requests, limits, capacity and allocatable.
using Resources = std::map<std::string, Amount, std::less<>>;

// Errors name the path: "resources.requests.nvidia.com/gpu: not a quantity: ...". Negative amounts are
// errors.
Result<Resources> ParseResources(const json::Doc* doc, std::string_view path);
void AddTo(Resources& sum, const Resources& more);
void MaxInto(Resources& peak, const Resources& other);

}  // namespace lockstep::kube
