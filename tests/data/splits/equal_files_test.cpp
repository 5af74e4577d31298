// SPDX-License-Identifier: Apache-2.0
#include "data/splits/equal_files.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;

namespace {

using Files = std::vector<std::string>;

std::string said(const Files& train, const Files& valid, const Files& test = {}) {
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    warn_of_equal_files({train, valid, test}, log);
    return lines.str();
}

}  // namespace

TEST_CASE("text that is also trained on is told of, in one line for each split") {
    const ScratchFolder dir;
    std::string text;
    for (int line = 0; line < 20'000; ++line) text += "line " + std::to_string(line) + "\n";
    const std::string train = dir / "train.txt", copy = dir / "copy.txt", head = dir / "head.txt",
                      other = dir / "other.txt", few = dir / "few.txt", packed = dir / "p.txt";
    write_text(train, text);
    write_text(copy, text);
    write_text(head, text.substr(0, text.size() / 2));
    write_text(few, text.substr(0, 14));
    text[text.size() - 2] = 'x';  // differs at the end only
    write_text(other, text);
    REQUIRE(std::system(("gzip -c " + train + " > " + packed).c_str()) == 0);
    std::filesystem::create_symlink(train, dir / "link.txt");

    const std::string advice =
        ": its scores say nothing about new text; hold out a part with --valid-fraction or "
        "--test-fraction\n";
    for (const std::string& same : {train, copy, packed, dir / "link.txt"})
        CHECK(said({other, train}, {same}) ==
              "warning: --valid " + same + " is the text of --input " + train + advice);
    for (const std::string& part : {head, few})
        CHECK(said({train}, {other}, {part}) ==
              "warning: --test " + part + " is the beginning of --input " + train + advice);
    CHECK(said({train}, {other}, {other}) ==
          "warning: --test " + other + " is the text of --valid " + other + advice);
    CHECK(said({train}, {copy, other, train, head}) == "warning: --valid " + copy +
                                                           " is the text of --input " + train +
                                                           " (and so for 2 more)" + advice);
    CHECK(said({train, head}, {other}).empty());
    CHECK(said({head}, {train}).empty());  // train.txt goes on
    CHECK(said({train, train}, {}).empty());
}
