// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/proven_device.hpp"

#include <gloo/common/error.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/comm/gloo/peer_greeting.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

namespace tcp = gloo::transport::tcp;

std::int64_t random_number() {
    std::uint64_t bits = 0;
    std::memcpy(&bits, protocol::random_nonce().data(), sizeof bits);
    return static_cast<std::int64_t>(bits & std::numeric_limits<std::int64_t>::max());
}

// Gloo puts the place in its source in front: "[enforce fail at ./gloo/...] text".
std::string reason(const std::exception& error) {
    const std::string what = error.what();
    const auto end = what.find("] ");
    return what.starts_with("[") && end != std::string::npos ? what.substr(end + 2) : what;
}

SocketAddress address_of(const tcp::Address& address) {
    SocketAddress result;
    result.storage = address.getSockaddr();
    result.length = result.family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    return result;
}

FileDescriptor listener_at(const SocketAddress& address) {
    auto [socket, failure] = listen_on(address);
    if (socket) return std::move(socket);
    throw Error(
        ErrorKind::gloo,
        "no port for another rank at " + address.text() + ": " +
            std::generic_category().message(failure) +
            (failure == EMFILE || failure == ENFILE ? "; allow more open files (ulimit -n)" : ""));
}

// The lower of two ranks listens, and keeps its port until the other one has come. A pair's address
// holds the number that this rank has drawn as Gloo's sequence number.
class ProvenPair final : public tcp::Pair {
public:
    // Gloo's thread has to stand still: the constructor of the base listens too.
    ProvenPair(tcp::Context& context, ProvenDevice& device, int peer)
        : tcp::Pair(&context, &device, peer, context.getTimeout()), key_(device.key()) {
        ::close(std::exchange(fd_, -1));
        SocketAddress address = device.address();
        if (context.rank < peer) {
            listener_ = listener_at(address);
            address = local_address_of(listener_);
        }
        self_ = tcp::Address(address.storage, random_number());
    }

    void connect(const std::vector<char>& bytes) override {
        const tcp::Address peer(bytes);
        const PeerGreeting greeting{key_, context_->rank, rank_, self_.getSeq(), peer.getSeq()};
        const Patience patience{static_cast<int>(timeout_.count()), [this] { return closed(); }};
        FileDescriptor socket = listener_ ? accept_peer(listener_, greeting, patience)
                                          : connect_peer(address_of(peer), greeting, patience);
        listener_ = {};
        const std::lock_guard lock(m_);
        if (state_ == CLOSED) throw gloo::IoException("the connection was closed");
        self_ = tcp::Address(local_address_of(socket).storage);
        peer_ = tcp::Address(peer_address_of(socket).storage);
        device_->registerDescriptor(socket.raw(), EPOLLIN, this);
        fd_ = socket.release();
        changeState(CONNECTED);
    }

    // An exception would end the process here, since Gloo's thread calls this.
    void handleEvents(int events) override {
        try {
            tcp::Pair::handleEvents(events);
        } catch (const std::exception& error) {
            signalExceptionExternal("Gloo failed on what came from a rank: " + reason(error));
        }
    }

private:
    bool closed() {
        const std::lock_guard lock(m_);
        return state_ == CLOSED;
    }

    const std::string key_;
    FileDescriptor listener_;
};

class ProvenContext final : public tcp::Context {
public:
    ProvenContext(std::shared_ptr<tcp::Device> base, ProvenDevice& device, int own_rank, int ranks)
        : tcp::Context(std::move(base), own_rank, ranks), proven_device_(device) {}

    std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
        const LoopGate::Pause pause(proven_device_.gate());
        auto& pair = pairs_[static_cast<std::size_t>(peer)];
        pair = std::make_unique<ProvenPair>(*this, proven_device_, peer);
        return pair;
    }

private:
    ProvenDevice& proven_device_;
};

}  // namespace

ProvenDevice::ProvenDevice(const tcp::attr& attributes, std::string key)
    : tcp::Device(tcp::CreateDeviceAttr(attributes)), key_(std::move(key)), gate_(*this) {}

std::shared_ptr<gloo::transport::Context> ProvenDevice::createContext(int rank, int size) {
    return std::make_shared<ProvenContext>(shared_from_this(), *this, rank, size);
}

SocketAddress ProvenDevice::address() const {
    SocketAddress address;
    address.storage = attr_.ai_addr;
    address.length = static_cast<socklen_t>(attr_.ai_addrlen);
    return address.with_port(0);
}

}  // namespace lockstep::comm
