// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_rendezvous.hpp"

#include <gloo/common/error.h>

#include <new>
#include <regex>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/gloo/proven_device.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

// Gloo's texts begin with a place in its sources: "[file:line] text".
std::string without_place(std::string what) {
    const auto text = what.find("] ");
    if (what.starts_with("[") && text != std::string::npos) what.erase(0, text + 2);
    return what;
}

}  // namespace

std::shared_ptr<gloo::transport::Device> gloo_device(const std::string& interface,
                                                     const std::string& address,
                                                     const std::string& key) {
    gloo::transport::tcp::attr attributes;
    attributes.iface = interface;
    if (interface.empty()) attributes.hostname = address;
    try {
        return std::make_shared<ProvenDevice>(attributes, key);
    } catch (const std::exception& error) {
        const std::string why = without_place(error.what());
        if (why.find("annot allocate memory") != std::string::npos) throw std::bad_alloc();
        const std::string what = interface.empty() ? "address " + address : interface;
        throw Error(ErrorKind::config, "Gloo cannot use " + what + " of " + host_name() + " (" +
                                           why +
                                           "): give another network interface by --interface");
    }
}

void throw_gloo_error(int timeout_ms) {
    try {
        throw;
    } catch (const Error&) {
        throw;
    } catch (const gloo::IoException& error) {
        std::string what = without_place(error.what());
        // Gloo writes ports with their bytes swapped.
        what = std::regex_replace(what, std::regex(R"(\[([^\]]*)\]:\d+)"), "$1");
        const bool late =
            what.find("imed out") != std::string::npos || what.find("imeout") != std::string::npos;
        throw Error(ErrorKind::peer,
                    late ? "a rank did not answer within " + std::to_string(timeout_ms) +
                               " ms: it hangs, or ended (" + what + ")"
                         : "another rank ended, or its host cannot be reached (" + what + ")");
    } catch (const std::exception& error) {
        throw Error(ErrorKind::gloo, std::string("Gloo failed: ") + error.what());
    }
}

}  // namespace lockstep::comm
