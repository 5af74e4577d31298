// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/http_request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/live/http/host_names.hpp"
#include "launcher/live/http/http_response.hpp"

using namespace lockstep::launcher::live;

namespace {

HttpRequest parsed(const std::string& lines) { return parse_head(lines + "\r\n\r\n"); }

}  // namespace

TEST_CASE("a browser's request is read") {
    const HttpRequest request = parsed(
        "GET /live.js?now=1 HTTP/1.1\r\nHOST:  localhost:6006 \r\naccept: */*\r\n"
        "If-None-Match: \"a-1\"");
    CHECK(request.refusal == 0);
    CHECK(request.method == "GET");
    CHECK(request.path == "/live.js");
    CHECK(request.host == "localhost:6006");
    CHECK(request.known_tag == "\"a-1\"");
    CHECK(parsed("GET http://a/b?c HTTP/1.1\r\nHost: a").path == "/b");
    CHECK(parsed("GET http://a HTTP/1.1\r\nHost: a").path == "/");
    CHECK(parse_head("GET / HTTP/1.0\n\n").refusal == 0);
}

TEST_CASE("what is no request is refused") {
    for (const char* lines :
         {"", "GET", "GET /", "GET / /", " / HTTP/1.1", "GET  HTTP/1.1",
          "GET a HTTP/1.1\r\nHost: a", "GET / HTTP/1.1",
          "GET / HTTP/1.1\r\nHost:", "GET / HTTP/1.1\r\nHost: a\r\nHost: b",
          "GET / HTTP/1.1\r\nHost: a b", "GET / HTTP/1.1\r\nHost: a\r\nno colon",
          "GET / HTTP/1.1\r\nHost: a\r\n: b", "GET / HTTP/1.1\r\nHost: a\r\nx y: b",
          "\x16\x03\x01\x02", "G\x01T / HTTP/1.1\r\nHost: a", "GET /\x80 HTTP/1.1\r\nHost: a"}) {
        CAPTURE(lines);
        CHECK(parsed(lines).refusal == 400);
    }
    CHECK(parsed("PRI * HTTP/2.0").refusal == 505);
}

TEST_CASE("a head ends with an empty line") {
    CHECK(end_of_head("GET / HTTP/1.1\r\n\r\nmore") == 18);
    CHECK(end_of_head("GET / HTTP/1.1\n\nmore\r\n\r\n") == 16);
    CHECK(end_of_head("GET / HTTP/1.1\r\n") == std::string::npos);
    CHECK(end_of_head("") == std::string::npos);
}

TEST_CASE("only names that mean this host are answered") {
    const HostNames names("Train.Example.org");
    for (const std::string& name : std::vector<std::string>{
             "localhost", "LOCALHOST:80", "a.localhost", "localhost.", "127.0.0.1:6006", "10.0.0.1",
             "[::1]:6006", "[fe80::1]", "train.example.org:1", own_host_name()}) {
        CAPTURE(name);
        CHECK(names.accepts(name));
    }
    for (const std::string& name : std::vector<std::string>{
             "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil-localhost",
             "::1", "[::1", "[::1]evil", "[evil]", "127.0.0.1:6006@evil", "localhost:x", "",
             own_host_name() + ".evil.example"}) {
        CAPTURE(name);
        CHECK_FALSE(names.accepts(name));
    }
}

TEST_CASE("a response says how long it is and that it is not to be kept") {
    const std::string head = head_of(line_response(405, "no"));
    for (const char* words : {"HTTP/1.1 405 Method Not Allowed\r\n", "Content-Length: 3\r\n",
                              "Allow: GET, HEAD\r\n", "no-store", "Connection: close\r\n\r\n"}) {
        CAPTURE(words);
        CHECK(head.find(words) != std::string::npos);
    }
    HttpResponse unchanged;
    unchanged.status = 304;
    CHECK(head_of(unchanged).find("Content-Length") == std::string::npos);
}
