// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::comm {

// Returns the text without the blanks at its ends. A carriage return, a no-break space, a
// zero-width space and a byte order mark count as blanks, too: nobody sees them, and shells,
// editors and host files of Windows leave them behind.
std::string trimmed(std::string_view text);

// Tells whether the text is an IPv6 address without brackets; a scope such as %eth0 may follow.
bool is_ipv6(const std::string& text);

// Names where an address was written, for messages: "MASTER_ADDR=" and "MASTER_PORT", or
// "--master-addr " and "--master-port".
struct AddressSource {
    std::string_view address, port;
};

// Returns the host of `text` as resolve() takes it: without outer blanks, and without the brackets
// of an IPv6 address. Throws kind config that shows the text when it has a scheme or a port, or is
// a link-local address without its interface. A name may still not exist.
std::string host_of_address(const AddressSource& source, const std::string& text);

// Returns the first of the ports on which rank 0's store may listen beside a launcher that listens
// on `port`: the next one, or so far below it that all of the store's ports exist.
int store_port_beside(int port);

}  // namespace lockstep::comm
