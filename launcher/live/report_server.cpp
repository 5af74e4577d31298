// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/report_server.hpp"

#include <poll.h>

#include <iostream>
#include <utility>

#include "launcher/live/http/host_names.hpp"
#include "launcher/live/http/http_server.hpp"
#include "launcher/live/live_page.hpp"
#include "launcher/live/live_script.hpp"
#include "launcher/live/signals.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher::live {

namespace {

HttpResponse page_response(const HttpRequest& request, LivePage& page) {
    const LivePage::Version version = page.look();
    HttpResponse response;
    response.type = "text/html; charset=utf-8";
    response.tag = version.tag;
    response.status = request.known_tag == version.tag ? 304 : 200;
    response.body = version.html;
    return response;
}

HttpResponse script_response() {
    HttpResponse response;
    response.type = "text/javascript; charset=utf-8";
    response.body = std::make_shared<const std::string>(live_script());
    return response;
}

HttpResponse answer(const HttpRequest& request, const HostNames& names, LivePage& page) {
    if (request.refusal != 0)
        return line_response(request.refusal, "the request is not understood");
    if (!request.host.empty() && !names.accepts(request.host))
        return line_response(403, "'" + shown(request.host) +
                                      "' is no name of this host; ask by its address, or give "
                                      "lockstep report --serve this name by --host");
    if (request.method != "GET" && request.method != "HEAD")
        return line_response(405, "only GET and HEAD are answered");
    if (request.path == "/") return page_response(request, page);
    if (request.path == "/live.js") return script_response();
    return line_response(404, "only / is served");
}

// Returns false if a signal comes first.
bool wait_for_page(const LivePage& page, const FileDescriptor& stop) {
    pollfd watched[2] = {{page.ready().raw(), POLLIN, 0}, {stop.raw(), POLLIN, 0}};
    while (::poll(watched, 2, -1) < 0) {
    }
    return watched[1].revents == 0;
}

}  // namespace

void serve_report(const ReportServing& serving) {
    Listeners listeners = listen_for_browsers(serving.host, serving.port);
    const FileDescriptor stop = watched_signals({});
    LivePage page(serving.folders, serving.abscissa);
    if (!wait_for_page(page, stop)) return;
    if (!listeners.loopback)
        std::cerr << "report: whoever reaches " + listeners.address +
                         " can read the page; without --host and --bind-all only this host can\n"
                  << std::flush;
    std::cout << "http://" << listeners.address << "/ shows the page; Ctrl-C ends it\n";
    flush_output();
    const HostNames names(serving.host);
    HttpServer server(std::move(listeners),
                      [&](const HttpRequest& request) { return answer(request, names, page); });
    server.serve_until(stop);
}

}  // namespace lockstep::launcher::live
