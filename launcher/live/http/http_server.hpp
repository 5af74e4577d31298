// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <string>
#include <vector>

#include "launcher/live/http/http_connection.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher::live {

// Holds the sockets of one port, and where browsers find it.
struct Listeners {
    std::vector<FileDescriptor> sockets;
    std::string address;  // "127.0.0.1:6006"
    bool loopback = true;
};

// Listens on every address that `host` means, and on all of this host's if it is empty. Port 0
// takes a free one. Throws a config error that names --serve and --host.
Listeners listen_for_browsers(const std::string& host, int port);

// Serves short requests of many clients from one thread. No client waits for another one: each
// connection has a limited time, and the oldest one goes when there are too many.
class HttpServer {
public:
    HttpServer(Listeners listeners, Answer answer);

    // Returns when `stop` can be read.
    void serve_until(const FileDescriptor& stop);

private:
    void accept_from(const FileDescriptor& listener);
    void attend(HttpConnection& connection);
    void end_the_late();

    Listeners listeners_;
    Answer answer_;
    std::list<HttpConnection> connections_;  // the oldest one is the first
};

}  // namespace lockstep::launcher::live
