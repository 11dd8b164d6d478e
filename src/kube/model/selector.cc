#include "kube/model/selector.h"

#include <algorithm>
#include <charconv>

#include "kube/model/reader.h"

namespace lockstep::kube {
namespace {

using json::Doc;

// strconv.ParseInt(text, 10, 64)
std::optional<int64_t> ParseInt(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `value` is null where the key is absent.
bool Holds(const Requirement& requirement, const std::string* value) {
  switch (requirement.op) {
    case SelectorOp::kIn:
      return value != nullptr && std::ranges::binary_search(requirement.values, *value);
    case SelectorOp::kNotIn:
      return value == nullptr || !std::ranges::binary_search(requirement.values, *value);
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (value == nullptr || requirement.values.size() != 1) return false;
      std::optional<int64_t> have = ParseInt(*value), bound = ParseInt(requirement.values[0]);
      if (!have || !bound) return false;
      return requirement.op == SelectorOp::kGt ? *have > *bound : *have < *bound;
    }
  }
  return false;
}

bool HoldsOver(const Requirement& requirement, const Labels& labels) {
  auto found = labels.find(requirement.key);
  return Holds(requirement, found == labels.end() ? nullptr : &found->second);
}

bool MatchesTerm(const NodeSelectorTerm& term, const std::string& node_name, const Labels& labels) {
  if (term.labels.empty() && term.fields.empty()) return false;
  return std::ranges::all_of(term.labels, [&](const Requirement& r) { return HoldsOver(r, labels); }) &&
         std::ranges::all_of(term.fields, [&](const Requirement& r) {
           return Holds(r, r.key == "metadata.name" ? &node_name : nullptr);
         });
}

void SortUnique(std::vector<std::string>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::optional<SelectorOp> FindOp(std::string_view name) {
  static constexpr std::pair<std::string_view, SelectorOp> kOps[] = {
      {"In", SelectorOp::kIn},         {"NotIn", SelectorOp::kNotIn},
      {"Exists", SelectorOp::kExists}, {"DoesNotExist", SelectorOp::kDoesNotExist},
      {"Gt", SelectorOp::kGt},         {"Lt", SelectorOp::kLt}};
  for (const auto& [text, op] : kOps) {
    if (text == name) return op;
  }
  return std::nullopt;
}

// What of Requirement a field of the API allows.
enum class Dialect { kLabels, kNodeLabels, kNodeFields };

void CheckValues(Reader& read, const Requirement& requirement, std::string_view path, Dialect dialect) {
  size_t count = requirement.values.size();
  switch (requirement.op) {
    case SelectorOp::kIn:
    case SelectorOp::kNotIn:
      if (dialect == Dialect::kNodeFields && count != 1) read.Fail(path, "values: must be one name");
      if (count == 0) read.Fail(path, "values: must not be empty for In and NotIn");
      return;
    case SelectorOp::kExists:
    case SelectorOp::kDoesNotExist:
      if (count != 0) read.Fail(path, "values: must be empty for Exists and DoesNotExist");
      return;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      if (count != 1) read.Fail(path, "values: must be one value for Gt and Lt");
      return;
  }
}

Requirement ParseRequirement(Reader& read, const Doc& doc, std::string_view path, Dialect dialect) {
  Requirement requirement;
  requirement.key = read.Text(doc, path, "key");
  if (requirement.key.empty()) read.Fail(Join(path, "key"), "must not be empty");
  if (dialect == Dialect::kNodeFields && requirement.key != "metadata.name") {
    read.Fail(Join(path, "key"), "must be metadata.name, is \"" + requirement.key + "\"");
  }
  std::string name = read.Text(doc, path, "operator");
  std::optional<SelectorOp> op = FindOp(name);
  bool ordering = op == SelectorOp::kGt || op == SelectorOp::kLt;
  bool set = op == SelectorOp::kIn || op == SelectorOp::kNotIn;
  if (!op || (dialect == Dialect::kLabels && ordering) || (dialect == Dialect::kNodeFields && !set)) {
    read.Fail(Join(path, "operator"), "not an operator here: \"" + name + "\"");
    return requirement;
  }
  requirement.op = *op;
  requirement.values = read.Texts(doc, path, "values");
  SortUnique(requirement.values);
  CheckValues(read, requirement, path, dialect);
  return requirement;
}

// {"a": "b"} as requirements "a in (b)", in the order of keys.
std::vector<Requirement> ParseEqualities(Reader& read, const Doc& object, std::string_view path,
                                         std::string_view key) {
  std::vector<Requirement> requirements;
  const Doc* equalities = read.Object(object, path, key);
  if (equalities == nullptr) return requirements;
  std::string at = Join(path, key);
  for (const auto& [name, value] : equalities->items()) {
    requirements.push_back({name, SelectorOp::kIn, {read.Text(*equalities, at, name)}});
  }
  return requirements;
}

std::vector<Requirement> ParseRequirements(Reader& read, const Doc& object, std::string_view path,
                                           std::string_view key, Dialect dialect) {
  std::vector<Requirement> requirements;
  std::string at = Join(path, key);
  for (const Doc* element : read.Objects(object, path, key)) {
    requirements.push_back(ParseRequirement(read, *element, Join(at, requirements.size()), dialect));
  }
  return requirements;
}

NodeSelectorTerm ParseTerm(Reader& read, const Doc& term, const std::string& path) {
  return {.labels = ParseRequirements(read, term, path, "matchExpressions", Dialect::kNodeLabels),
          .fields = ParseRequirements(read, term, path, "matchFields", Dialect::kNodeFields)};
}

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A label's name or value: at most 63 characters, alphanumeric at both ends, '-', '_' and '.' within.
bool IsLabelPart(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsLabelKey(std::string_view key) {
  size_t slash = key.find('/');
  if (slash == key.npos) return IsLabelPart(key);
  std::string_view prefix = key.substr(0, slash);
  bool is_domain = !prefix.empty() && prefix.size() <= 253 && IsAlphanumeric(prefix.front()) &&
                   IsAlphanumeric(prefix.back()) && std::ranges::all_of(prefix, [](char c) {
                     return (IsAlphanumeric(c) && (c < 'A' || c > 'Z')) || c == '-' || c == '.';
                   });
  return is_domain && IsLabelPart(key.substr(slash + 1));
}

// The textual grammar of k8s.io/apimachinery/pkg/labels: requirements separated by commas.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text), rest_(text) {}

  Result<LabelSelector> Parse() {
    LabelSelector selector;
    Next();
    if (token_.empty()) return selector;
    while (true) {
      if (!TakeRequirement(selector)) return Fail();
      if (token_.empty()) break;
      if (token_ != ",") return Expected("a comma"), Fail();
      Next();
    }
    std::ranges::sort(selector.requirements);
    return selector;
  }

 private:
  static bool IsSpecial(char c) { return std::string_view("=!(),<>").find(c) != std::string_view::npos; }
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  // Moves to the next word or symbol; at the end the token is empty.
  void Next() {
    while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
    size_t size = 0;
    if (rest_.starts_with("==") || rest_.starts_with("!=")) {
      size = 2;
    } else if (!rest_.empty() && IsSpecial(rest_.front())) {
      size = 1;
    } else {
      while (size < rest_.size() && !IsSpecial(rest_[size]) && !IsSpace(rest_[size])) ++size;
    }
    token_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  bool AtWord() const { return !token_.empty() && !IsSpecial(token_.front()); }

  bool Expected(std::string_view what) {
    if (problem_.empty()) {
      problem_ = "must have " + std::string(what) + " before byte " +
                 std::to_string(static_cast<size_t>(rest_.data() - text_.data()));
    }
    return false;
  }

  Error Fail() const {
    return Error{"not a label selector: \"" + std::string(text_.substr(0, 256)) + "\": " + problem_};
  }

  bool TakeKey(std::string& key) {
    if (!AtWord() || !IsLabelKey(token_)) return Expected("a label key");
    key = token_;
    Next();
    return true;
  }

  // A value may be empty; then the token that ends it stays.
  bool TakeValue(std::vector<std::string>& values) {
    if (!AtWord()) return values.emplace_back(), true;
    if (!IsLabelPart(token_)) return Expected("a label value");
    values.emplace_back(token_);
    Next();
    return true;
  }

  bool TakeValues(std::vector<std::string>& values) {
    if (token_ != "(") return Expected("(values)");
    Next();
    while (true) {
      if (!TakeValue(values)) return false;
      if (token_ == ")") break;
      if (token_ != ",") return Expected("a comma or )");
      Next();
    }
    Next();
    return true;
  }

  bool TakeRequirement(LabelSelector& selector) {
    Requirement requirement;
    if (token_ == "!") {
      Next();
      requirement.op = SelectorOp::kDoesNotExist;
      if (!TakeKey(requirement.key)) return false;
    } else {
      if (!TakeKey(requirement.key) || !TakeOperation(requirement)) return false;
    }
    SortUnique(requirement.values);
    selector.requirements.push_back(std::move(requirement));
    return true;
  }

  bool TakeOperation(Requirement& requirement) {
    std::string_view op = token_;
    if (op.empty() || op == ",") {
      requirement.op = SelectorOp::kExists;
      return true;
    }
    Next();
    if (op == "=" || op == "==" || op == "!=") {
      requirement.op = op == "!=" ? SelectorOp::kNotIn : SelectorOp::kIn;
      return TakeValue(requirement.values);
    }
    if (op == "in" || op == "notin") {
      requirement.op = op == "in" ? SelectorOp::kIn : SelectorOp::kNotIn;
      return TakeValues(requirement.values);
    }
    if (op == ">" || op == "<") {
      requirement.op = op == ">" ? SelectorOp::kGt : SelectorOp::kLt;
      if (!AtWord() || !ParseInt(token_)) return Expected("an integer");
      return TakeValue(requirement.values);
    }
    return Expected("an operator");
  }

  std::string_view text_, rest_, token_;
  std::string problem_;
};

std::string Text(const Requirement& requirement) {
  const auto& [key, op, values] = requirement;
  std::string list;
  for (const std::string& value : values) list += (&value == values.data() ? "" : ",") + value;
  switch (op) {
    case SelectorOp::kIn:
      return values.size() == 1 ? key + "=" + list : key + " in (" + list + ")";
    case SelectorOp::kNotIn:
      return values.size() == 1 ? key + "!=" + list : key + " notin (" + list + ")";
    case SelectorOp::kExists:
      return key;
    case SelectorOp::kDoesNotExist:
      return "!" + key;
    case SelectorOp::kGt:
      return key + ">" + list;
    case SelectorOp::kLt:
      return key + "<" + list;
  }
  return key;
}

}  // namespace

bool LabelSelector::Matches(const Labels& labels) const {
  return std::ranges::all_of(requirements, [&](const Requirement& r) { return HoldsOver(r, labels); });
}

std::string LabelSelector::text() const {
  std::string text;
  for (const Requirement& requirement : requirements) {
    if (!text.empty()) text += ',';
    text += Text(requirement);
  }
  return text;
}

Result<LabelSelector> ParseLabelSelector(std::string_view text) { return TextParser(text).Parse(); }

Result<LabelSelector> ParseLabelSelector(const Doc& selector) {
  if (!selector.is_object()) {
    return Error{std::string("selector: must be an object, is ") + selector.type_name()};
  }
  Reader read;
  LabelSelector parsed;
  parsed.requirements = ParseEqualities(read, selector, "", "matchLabels");
  std::ranges::move(ParseRequirements(read, selector, "", "matchExpressions", Dialect::kLabels),
                    std::back_inserter(parsed.requirements));
  if (read.error()) return *read.error();
  std::ranges::sort(parsed.requirements);
  return parsed;
}

bool NodeConstraint::Matches(const std::string& node_name, const Labels& labels) const {
  if (!node.empty() && node != node_name) return false;
  if (!std::ranges::all_of(all, [&](const Requirement& r) { return HoldsOver(r, labels); })) return false;
  return !has_terms || std::ranges::any_of(any, [&](const NodeSelectorTerm& term) {
    return MatchesTerm(term, node_name, labels);
  });
}

Result<NodeConstraint> ParseNodeConstraint(const Doc& pod_spec) {
  Reader read;
  NodeConstraint constraint;
  constraint.all = ParseEqualities(read, pod_spec, "", "nodeSelector");
  const Doc* affinity = read.Object(pod_spec, "", "affinity");
  const Doc* node = affinity == nullptr ? nullptr : read.Object(*affinity, "affinity", "nodeAffinity");
  std::string path = "affinity.nodeAffinity";
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const Doc* required = node == nullptr ? nullptr : read.Object(*node, path, kRequired);
  if (required != nullptr) {
    constraint.has_terms = true;
    path = Join(path, kRequired);
    std::string terms = Join(path, "nodeSelectorTerms");
    for (const Doc* term : read.Objects(*required, path, "nodeSelectorTerms"))
      constraint.any.push_back(ParseTerm(read, *term, Join(terms, constraint.any.size())));
  }
  if (read.error()) return *read.error();
  return constraint;
}

Result<std::vector<PreferredNodes>> ParsePreferredNodes(const Doc& pod_spec) {
  Reader read;
  std::vector<PreferredNodes> preferred;
  const Doc* affinity = read.Object(pod_spec, "", "affinity");
  const Doc* node = affinity == nullptr ? nullptr : read.Object(*affinity, "affinity", "nodeAffinity");
  if (node == nullptr) return preferred;
  std::string path = "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution";
  for (const Doc* term :
       read.Objects(*node, "affinity.nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")) {
    std::string at = Join(path, preferred.size());
    int64_t weight = read.Int(*term, at, "weight").value_or(0);
    if (weight < 1 || weight > 100) read.Fail(Join(at, "weight"), "must be 1 to 100");
    PreferredNodes one{.nodes = {}, .weight = static_cast<int32_t>(std::clamp<int64_t>(weight, 1, 100))};
    if (const Doc* nodes = read.Object(*term, at, "preference"))
      one.nodes = ParseTerm(read, *nodes, Join(at, "preference"));
    preferred.push_back(std::move(one));
  }
  if (read.error()) return *read.error();
  return preferred;
}

int32_t PreferenceFor(const std::vector<PreferredNodes>& preferred, const std::string& node_name,
                      const Labels& labels) {
  int64_t sum = 0;
  for (const PreferredNodes& term : preferred) {
    if (MatchesTerm(term.nodes, node_name, labels)) sum += term.weight;
  }
  return static_cast<int32_t>(std::min<int64_t>(sum, INT32_MAX));
}

}  // namespace lockstep::kube
