// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

// Passes everything on to another store; a test changes one of the functions.
class PassingStore : public Store {
public:
    explicit PassingStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
    void set(const std::string& key, const std::string& value) override { store_->set(key, value); }
    std::string get(const std::string& key, int timeout_ms) override {
        return store_->get(key, timeout_ms);
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return store_->add(key, amount);
    }
    std::string local_address() const override { return store_->local_address(); }
    std::string key_for(const std::string& purpose) const override {
        return store_->key_for(purpose);
    }

private:
    std::shared_ptr<Store> store_;
};

}  // namespace lockstep::comm
