// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/abscissa.hpp"

#include "launcher/report/charts/numbers.hpp"

namespace lockstep::launcher::report {

namespace {

struct Words {
    const char *title, *one, *many;
};

Words words_of(Abscissa abscissa) {
    switch (abscissa) {
        case Abscissa::steps:
            break;
        case Abscissa::epochs:
            return {"epoch", "epoch", "epochs"};
        case Abscissa::tokens:
            return {"label tokens", "label token", "label tokens"};
        case Abscissa::minutes:
            return {"minutes of training", "minute", "minutes"};
    }
    return {"step", "step", "steps"};
}

}  // namespace

const char* axis_title(Abscissa abscissa) { return words_of(abscissa).title; }

std::string stretch_text(Abscissa abscissa, double first, double last) {
    const Words words = words_of(abscissa);
    if (first == last) return std::string(words.one) + " " + number_text(last);
    return std::string(words.many) + " " + number_text(first) + " to " + number_text(last);
}

}  // namespace lockstep::launcher::report
