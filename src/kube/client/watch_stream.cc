#include "kube/client/watch_stream.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "json/tolerant.h"

namespace lockstep::kube {
namespace {

std::optional<WatchEventType> EventType(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  return std::nullopt;
}

std::string Shortened(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string shown(text.substr(0, kShown));
  if (text.size() > kShown) shown += "...";
  return shown;
}

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

// simdjson reads past the end of its input, so every line is copied into a padded buffer. The DOM parser
// validates it whole; on-demand alone would accept garbage in the fields it skips, but only on-demand can
// give the object's own bytes. What the DOM parser can't hold (numbers beyond 64 bits, deep nesting) users
// may store all the same, and it must not end a watch: then a slower parser decides.
struct WatchStream::Parser {
  std::vector<char> padded;
  simdjson::dom::parser dom;
  simdjson::ondemand::parser on_demand;

  struct Event {
    std::string type;
    std::string_view object;  // into `padded`
  };

  // Empty: no event; `why` says what is wrong.
  std::optional<Event> Read(std::string_view line, const char*& why) {
    padded.resize(std::max(padded.size(), line.size() + simdjson::SIMDJSON_PADDING));
    std::copy(line.begin(), line.end(), padded.begin());
    simdjson::dom::element whole;
    if (dom.parse(padded.data(), line.size(), false).get(whole) ? !json::IsWhole(line) : !whole.is_object()) {
      why = "not a JSON object";
      return std::nullopt;
    }
    simdjson::ondemand::document document;
    simdjson::ondemand::object fields;
    simdjson::padded_string_view view(padded.data(), line.size(), padded.size());
    if (on_demand.iterate(view).get(document) || document.get_object().get(fields)) {
      why = "not a JSON object";
      return std::nullopt;
    }
    return ReadFields(fields, why);
  }

  static std::optional<Event> ReadFields(simdjson::ondemand::object& fields, const char*& why) {
    bool has_type = false, has_object = false;
    Event event;
    why = "must have one type and one object";
    for (auto item : fields) {
      simdjson::ondemand::field field;
      std::string_view key, text;
      if (std::move(item).get(field) || field.unescaped_key().get(key)) return std::nullopt;
      if (key == "type") {
        if (std::exchange(has_type, true) || field.value().get_string().get(text)) return std::nullopt;
        event.type = text;
      } else if (key == "object") {
        simdjson::ondemand::object object;
        if (std::exchange(has_object, true) || field.value().get_object().get(object) ||
            object.raw_json().get(text)) {
          return std::nullopt;
        }
        event.object = text;
      }
    }
    if (!has_type || !has_object) return std::nullopt;
    return event;
  }
};

WatchStream::WatchStream(size_t max_frame_bytes)
    : max_frame_bytes_(max_frame_bytes), parser_(std::make_unique<Parser>()) {
  CHECK(!parser_->dom.allocate(1 << 10, kMaxDepth)) << "out of memory";
}
WatchStream::~WatchStream() = default;
WatchStream::WatchStream(WatchStream&&) noexcept = default;

bool WatchStream::Feed(std::string_view bytes, std::vector<WatchFrame>& frames) {
  while (!end_ && !bytes.empty()) {
    size_t line_end = bytes.find('\n');
    bool complete = line_end != std::string_view::npos;
    std::string_view piece = bytes.substr(0, line_end);
    bytes.remove_prefix(complete ? line_end + 1 : bytes.size());
    if (rest_.size() + piece.size() > max_frame_bytes_) {
      Broken("an event of more than " + std::to_string(max_frame_bytes_) + " bytes");
    } else if (!complete) {
      rest_ += piece;
    } else if (rest_.empty()) {
      TakeLine(piece, frames);
    } else {
      rest_ += piece;
      TakeLine(std::exchange(rest_, {}), frames);
    }
  }
  return !end_;
}

void WatchStream::TakeLine(std::string_view line, std::vector<WatchFrame>& frames) {
  if (IsBlank(line)) return;
  const char* why = "";
  if (std::optional<Parser::Event> event = parser_->Read(line, why)) {
    TakeEvent(event->type, event->object, frames);
  } else {
    Broken(std::string("a line that is no event (") + why + "): " + Shortened(line));
  }
}

void WatchStream::TakeEvent(std::string_view type, std::string_view object, std::vector<WatchFrame>& frames) {
  if (type == "ERROR") {
    Result<json::Doc> doc = json::Parse(object);
    int code = doc.ok() ? static_cast<int>(json::GetInt(*doc, "code", 500)) : 500;
    end_ = ParseStatus(code < 400 ? 500 : code, object);
    return;
  }
  std::optional<WatchEventType> known = EventType(type);
  if (!known) return Broken("an event of unknown type " + Shortened(type));
  frames.push_back({*known, std::string(object)});
}

void WatchStream::Broken(const std::string& what) {
  rest_.clear();
  end_ = NoAnswer("the watch sent " + what);
}

Status WatchStream::Finish() {
  if (!end_ && !IsBlank(rest_)) Broken("half an event at its end");
  if (!end_) end_ = OkStatus();
  return *end_;
}

bool IsJson(std::string_view text) {
  simdjson::dom::parser parser;
  if (parser.allocate(text.size() + 1, WatchStream::kMaxDepth)) return false;
  simdjson::dom::element whole;
  return !parser.parse(text.data(), text.size(), true).get(whole) || json::IsWhole(text);
}

}  // namespace lockstep::kube
