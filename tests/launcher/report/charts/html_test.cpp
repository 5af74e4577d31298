// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/html.hpp"

#include <doctest/doctest.h>

using namespace lockstep::launcher::report;

TEST_CASE("text is never markup") {
    CHECK(escaped("<script>alert('a' & \"b\")</script>") ==
          "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
    CHECK(escaped("Grüße, 世界 😀") == "Grüße, 世界 😀");
}

TEST_CASE("what is no printable text is shown as such") {
    const std::string shown = "\uFFFD";
    CHECK(escaped("a\xff"
                  "b") == "a" + shown + "b");
    CHECK(escaped("\xe4\xb8") == shown + shown);              // an unfinished one
    CHECK(escaped("\xed\xa0\x80") == shown + shown + shown);  // half a surrogate pair
    CHECK(escaped(std::string("a\0b", 3)) == "a" + shown + "b");
    CHECK(escaped("\x1b[31m") == shown + "[31m");
    CHECK(escaped("\u202Eabc") == shown + "abc");  // would be read backwards
    CHECK(escaped("\uFFFE") == shown);
    CHECK(escaped("a\n\tb") == "a\n\tb");
}

TEST_CASE("tables escape their cells") {
    CHECK(table(TableKind::words, {}, {{"<a>", "b&c"}}) ==
          "<div class=\"scroll\"><table>\n<tbody>\n"
          "<tr><th scope=\"row\">&lt;a&gt;</th><td>b&amp;c</td></tr>\n"
          "</tbody></table></div>\n");
    const std::string with_head = table(TableKind::numbers, {"x", "y"}, {});
    CHECK(with_head.find("class=\"numbers\"") != std::string::npos);
    CHECK(with_head.find("<thead><tr><th scope=\"col\">x</th><th scope=\"col\">y</th></tr>") !=
          std::string::npos);
}
