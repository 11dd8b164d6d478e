#include "json/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cmath>
#include <map>
#include <sstream>

#include "json/yaml_scalar.h"

namespace lockstep::json {
namespace {

// Anchors are kept as copies and aliases expand to copies; a small text must not become a huge tree. Counted
// in nodes, a long scalar as one per kBytesPerNode.
constexpr size_t kMaxCopiedNodes = 100000;
constexpr size_t kBytesPerNode = 64;

// Thrown out of yaml-cpp's parser by the handler below; never leaves this file.
struct Refused {
  YAML::Mark mark;
  std::string what;
};

constexpr std::string_view kPlain = "?", kQuoted = "!";
constexpr std::string_view kStandard = "tag:yaml.org,2002:";

Doc ResolveTagged(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
  if (tag == kQuoted) return Doc(text);
  if (tag.empty() || tag == kPlain) return ResolvePlainScalar(text);
  if (!tag.starts_with(kStandard)) return Doc(text);  // an application's tag: the text, as in Go
  std::string_view type = std::string_view(tag).substr(kStandard.size());
  if (type == "str") return Doc(text);
  Doc value = ResolvePlainScalar(text);
  bool fits = (type == "int" && value.is_number_integer()) || (type == "float" && value.is_number()) ||
              (type == "bool" && value.is_boolean()) || (type == "null" && value.is_null()) ||
              (type == "timestamp" && value.is_string());
  if (!fits) throw Refused{mark, "not a value of the tag " + std::string(type) + ": \"" + text + "\""};
  return value;
}

// Builds the tree of one document from yaml-cpp's events.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(Limits limits) : limits_(limits) {}

  Doc Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Put(mark, anchor, {.size = 1}); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Piece piece{.doc = ResolveTagged(mark, tag, text), .size = 1 + text.size() / kBytesPerNode};
    if (piece.doc.is_number_float() && !std::isfinite(piece.doc.get<double>())) {
      throw Refused{mark, "JSON has no " + text};
    }
    piece.is_merge_mark = tag == kPlain && text == "<<";
    Put(mark, anchor, std::move(piece));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{mark, "an alias inside its own anchor"};
    Charge(mark, found->second.size);
    if (open_.size() + found->second.depth > Depth()) TooDeep(mark);
    Put(mark, 0, Piece(found->second));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, Doc::array());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, Doc::object());
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override {
    Container& map = open_.back();
    // What is written in the map wins over what is merged in; of several merged maps, the first.
    for (Doc& merged : map.merged) {
      for (auto& [key, value] : merged.items()) {
        if (!map.piece.doc.contains(key)) map.piece.doc[key] = value;
      }
    }
    Close();
  }

 private:
  struct Piece {
    Doc doc;
    size_t size = 1;   // in nodes
    size_t depth = 0;  // of containers
    bool is_merge_mark = false;
  };
  struct Container {
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    Piece piece;
    bool has_key = false, merges = false;  // of a map: a key waits for its value
    std::string key;
    std::vector<Doc> merged;
  };

  size_t Depth() const { return static_cast<size_t>(limits_.max_depth); }
  [[noreturn]] void TooDeep(const YAML::Mark& mark) const {
    throw Refused{mark, "nested deeper than " + std::to_string(limits_.max_depth) + " levels"};
  }
  void Charge(const YAML::Mark& mark, size_t nodes) {
    copied_ += nodes;
    if (copied_ > kMaxCopiedNodes) {
      throw Refused{mark,
                    "anchors and aliases expand to more than " + std::to_string(kMaxCopiedNodes) + " nodes"};
    }
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Doc empty) {
    if (open_.size() >= Depth()) TooDeep(mark);
    if (!open_.empty() && open_.back().piece.doc.is_object() && !open_.back().has_key) {
      throw Refused{mark, "a key must be a scalar"};
    }
    Container& container = open_.emplace_back();
    container.mark = mark;
    container.anchor = anchor;
    container.piece = {.doc = std::move(empty), .size = 1, .depth = 1};
  }

  void Close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    Put(done.mark, done.anchor, std::move(done.piece));
  }

  void Put(const YAML::Mark& mark, YAML::anchor_t anchor, Piece piece) {
    if (anchor != 0) {
      Charge(mark, piece.size);
      anchors_[anchor] = piece;
    }
    if (open_.empty()) {
      root_ = std::move(piece.doc);
      return;
    }
    Container& parent = open_.back();
    parent.piece.size += piece.size;
    parent.piece.depth = std::max(parent.piece.depth, piece.depth + 1);
    if (parent.piece.doc.is_array()) {
      parent.piece.doc.push_back(std::move(piece.doc));
    } else if (!parent.has_key) {
      PutKey(mark, parent, piece);
    } else {
      parent.has_key = false;
      if (parent.merges) {
        PutMerged(mark, parent, std::move(piece.doc));
      } else {
        parent.piece.doc[parent.key] = std::move(piece.doc);
      }
    }
  }

  static void PutKey(const YAML::Mark& mark, Container& map, Piece& piece) {
    map.has_key = true;
    map.merges = piece.is_merge_mark;
    if (map.merges) return;
    if (piece.doc.is_null() || piece.doc.is_structured()) {
      throw Refused{mark, std::string("a key must be a string, is ") + piece.doc.type_name()};
    }
    map.key = piece.doc.is_string() ? piece.doc.get<std::string>() : Dump(piece.doc);
    if (map.piece.doc.contains(map.key)) throw Refused{mark, "the key \"" + map.key + "\" is there twice"};
  }

  static void PutMerged(const YAML::Mark& mark, Container& map, Doc value) {
    Doc list = value.is_array() ? std::move(value) : Doc::array({std::move(value)});
    for (Doc& element : list) {
      if (!element.is_object()) throw Refused{mark, "<< must merge a map or a list of maps"};
      map.merged.push_back(std::move(element));
    }
  }

  Limits limits_;
  size_t copied_ = 0;
  std::vector<Container> open_;
  std::map<YAML::anchor_t, Piece> anchors_;
  Doc root_;
};

Error At(const YAML::Mark& mark, const std::string& what) {
  if (mark.is_null()) return Error{"not YAML: " + what};
  return Error{"line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) +
               ": " + what};
}

// yaml-cpp takes byte 4 as the end of its input and guesses UTF-16 and UTF-32; we read UTF-8 only.
Outcome CheckCharacters(std::string_view text) {
  if (text.starts_with("\xFE\xFF") || text.starts_with("\xFF\xFE")) return Error{"not UTF-8"};
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
      return Error{"a control character at byte " + std::to_string(i)};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Doc>> ParseYaml(std::string_view text, Limits limits) {
  if (text.size() > limits.max_bytes) {
    return Error{"larger than " + std::to_string(limits.max_bytes) + " bytes"};
  }
  if (Outcome problem = CheckCharacters(text)) return *problem;
  std::vector<Doc> documents;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    // Every document takes at least a byte; more of them mean that yaml-cpp no longer moves on.
    for (size_t count = 0; count <= text.size() + 1; ++count) {
      Builder builder(limits);
      if (!parser.HandleNextDocument(builder)) return documents;
      if (Doc doc = builder.Take(); !doc.is_null()) documents.push_back(std::move(doc));
    }
    return Error{"not YAML: the end of a document is missing"};
  } catch (const Refused& refused) {
    return At(refused.mark, refused.what);
  } catch (const YAML::Exception& e) {
    return At(e.mark, e.msg);
  }
}

}  // namespace lockstep::json
