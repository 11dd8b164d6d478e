#include "json/append.h"

namespace lockstep::json {

void DumpTo(std::string& out, const Doc& doc) {
  nlohmann::detail::serializer<Doc> writer(nlohmann::detail::output_adapter<char>(out), ' ',
                                           Doc::error_handler_t::replace);
  writer.dump(doc, /*pretty_print=*/false, /*ensure_ascii=*/false, 0);
}

}  // namespace lockstep::json
