#include "gang/related_exact.h"

#include <algorithm>
#include <set>
#include <vector>

namespace lockstep::gang {
namespace {

class Search {
 public:
  Search(Board& board, int64_t work) : board_(board), work_(work) {
    for (const KindRules& rules : board.table().kinds)
      any_order_ &= rules.near.empty() && rules.spread.empty();
  }

  Found Run() {
    if (Fill()) return Found::kPlacement;
    return work_ > 0 ? Found::kNone : Found::kGaveUp;
  }

 private:
  bool Fill() {
    if (board_.total_left() == 0) return true;
    std::vector<int32_t> touched = board_.touched();
    std::ranges::sort(touched, [&](int32_t a, int32_t b) { return Compare(a, b) < 0; });
    if (!seen_.insert(Picture(touched)).second) return false;
    std::vector<int32_t> options = Options(touched);
    for (size_t kind = 0; kind < board_.kinds(); ++kind) {
      if (board_.left(kind) == 0) continue;
      for (int32_t spot : options) {
        if (--work_ <= 0) return false;
        if (!board_.Allowed(kind, spot)) continue;
        board_.Put(kind, spot);
        if (Fill()) return true;
        board_.Take(kind, spot);
        if (work_ <= 0) return false;
      }
      // Anti-affinity alone holds in any order, so one order of kinds will do.
      if (any_order_) return false;
    }
    return false;
  }

  // By type and pods on it: 0 for spots that stand for each other.
  int64_t Compare(int32_t a, int32_t b) const {
    int64_t order = static_cast<int64_t>(board_.type_id(a)) - static_cast<int64_t>(board_.type_id(b));
    for (size_t kind = 0; order == 0 && kind < board_.kinds(); ++kind)
      order = int64_t{board_.pods(kind, a)} - board_.pods(kind, b);
    return order;
  }

  // The first of each type without pods, and those with pods that differ from one another.
  std::vector<int32_t> Options(const std::vector<int32_t>& touched) const {
    std::vector<int32_t> options;
    for (const Board::Type& type : board_.types()) {
      if (type.used < type.spots.size()) options.push_back(type.spots[type.used]);
    }
    for (size_t i = 0; i < touched.size(); ++i) {
      if (i == 0 || Compare(touched[i - 1], touched[i]) != 0) options.push_back(touched[i]);
    }
    return options;
  }

  // Equal for boards that differ by an exchange of alike spots only.
  std::vector<int32_t> Picture(const std::vector<int32_t>& touched) const {
    std::vector<int32_t> picture;
    picture.reserve(touched.size() * (board_.kinds() + 1));
    for (int32_t spot : touched) {
      picture.push_back(static_cast<int32_t>(board_.type_id(spot)));
      for (size_t kind = 0; kind < board_.kinds(); ++kind) picture.push_back(board_.pods(kind, spot));
    }
    return picture;
  }

  Board& board_;
  int64_t work_;
  bool any_order_ = true;
  std::set<std::vector<int32_t>> seen_;
};

}  // namespace

Found FillExactly(Board& board, int64_t work) {
  if (board.total_left() > kRelatedPods) return Found::kGaveUp;
  return Search(board, work).Run();
}

}  // namespace lockstep::gang
