// Text in XML documents.
#ifndef EPL_TOOLS_EPL_PLAN_XML_H
#define EPL_TOOLS_EPL_PLAN_XML_H

#include <string>
#include <string_view>

namespace epl::runtime::tool {

/// Text between tags. Bytes that are no character become "?": names come from users.
std::string xml(std::string_view text);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_XML_H
