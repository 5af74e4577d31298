// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/store/frame_seal.hpp"
#include "runtime/comm/store/join_attempt.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::comm {

// Holds a connection to the store. It stays open because it shows that this rank is alive.
class StoreClient : public Store {
public:
    static constexpr int usual_answer_ms = 30'000;

    // Finds the store as find_store(). A store that has not answered `answer_ms` after the end of a
    // call's own time-out counts as lost.
    StoreClient(const std::vector<SocketAddress>& addresses, const std::vector<int>& ports,
                Secret secret, int timeout_ms, int answer_ms = usual_answer_ms, Unseal unseal = {});

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key, int timeout_ms) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string local_address() const override;
    std::string key_for(const std::string& purpose) const override;
    // Returns the port on which the store was found.
    int port() const noexcept { return address_.port(); }
    // Asks the store to set `key` to `value` when this connection ends, for whatever reason. The
    // value becomes StoreServer::broken or StoreServer::unacknowledged if the connection was not
    // closed. An empty key revokes the last will.
    void set_will(const std::string& key, const std::string& value);
    // Connects again to the same store after a call has thrown. Throws kind peer if the connection
    // was open but the store did not answer, if nobody listens there any more, or after
    // `timeout_ms`. The will of the old connection is executed.
    void reconnect(int timeout_ms);
    // Works as get(), but returns an empty result after the time-out.
    std::optional<std::string> find(const std::string& key, int timeout_ms);

private:
    void use_connection(JoinAttempt& joined);
    // These two move the deadline by the time in which this process was suspended.
    bool send_frame(const std::string& payload, Clock::time_point& deadline);
    bool receive_frame(std::string& payload, std::size_t max_bytes, Clock::time_point& deadline);
    // Returns an empty result if the connection is lost or the answer is late.
    std::optional<protocol::Reply> exchange(const std::string& request,
                                            Clock::time_point& deadline);
    protocol::Reply ask(const protocol::Request& request, int timeout_ms);

    Admission admission_;
    Secret secret_;  // of the store that was found
    int answer_ms_;
    mutable std::mutex mutex_;
    FileDescriptor socket_;
    std::optional<protocol::FrameSeal> seal_;  // of the connection
    SocketAddress address_;                    // where the store was found
    bool silent_ = false;                      // the store did not answer in time
    std::string buffer_;
};

}  // namespace lockstep::comm
