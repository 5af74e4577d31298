// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/secret/secret.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("a secret's file is for its owner's eyes and long enough") {
    namespace fs = std::filesystem;
    const fs::path file =
        fs::temp_directory_path() / ("lockstep-secret-" + std::to_string(getpid()));
    const auto write = [&](const std::string& text) {
        std::ofstream(file) << text;
        fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    };
    const auto refusal = [&]() -> std::string {
        try {
            Secret::from_file(file.string());
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    CHECK(refusal().find("cannot be read") != std::string::npos);
    write("0123456789abcdef\nmore\n");
    CHECK(Secret::from_file(file.string()).text() == "0123456789abcdef");
    write("0123456789abcdef \t\r\nmore\n");
    CHECK(Secret::from_file(file.string()).text() == "0123456789abcdef");
    CHECK(Secret::from({{Secret::variable, "0123456789abcdef \r"}}).text() == "0123456789abcdef");
    write("0123456789abcde   ");
    CHECK(refusal().find("openssl rand") != std::string::npos);
    write("0123456789abcdef");
    fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
    CHECK(refusal().find("chmod 600") != std::string::npos);
    write("short");
    CHECK(refusal().find("openssl rand") != std::string::npos);
    CHECK(refusal().find("short\n") == std::string::npos);
    for (const std::string& same : {std::string(32, '\0'), std::string(32, 'a')}) {
        write(same);
        CHECK(refusal().find("random characters") != std::string::npos);
    }
    write("0123456789abcdef" + std::string(4'080, 'x'));
    CHECK(refusal().find("4096 characters or more") != std::string::npos);
    fs::remove(file);
}

TEST_CASE("secrets are long, random, and differ by job") {
    CHECK(Secret("a").of_job("1.0").text() != Secret("a").of_job("2.0").text());
    CHECK(Secret("a").of_job("").text() == "a");
    CHECK(Secret::make().text().size() == 64);
    CHECK(Secret::make().text() != Secret::make().text());
    CHECK(Secret::from({}).empty());
    CHECK(Secret::from({{Secret::variable, "0123456789abcdef"}}).text() == "0123456789abcdef");
    for (const char* empty : {"", " "})
        CHECK_THROWS_WITH_AS(Secret::from({{Secret::variable, empty}}),
                             "LOCKSTEP_SECRET: is set and empty; unset it, or give 16 or more "
                             "random characters (openssl rand -hex 32)",
                             Error);
    CHECK_THROWS_WITH_AS(
        Secret::from({{Secret::variable, "0123456789abcde"}}),
        "LOCKSTEP_SECRET: it needs 16 or more random characters (openssl rand -hex "
        "32)",
        Error);
}
