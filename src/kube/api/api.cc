#include "kube/api/api.h"

namespace lockstep::kube {

std::string_view VerbText(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
  }
  return "unknown";
}

}  // namespace lockstep::kube
