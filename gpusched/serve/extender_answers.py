"""The four answers of the extender over one cluster state, watched by logs and metrics."""

from gpusched.obs.decisions import DecisionLog
from gpusched.serve.extender_app import AsyncAnswer, ExtenderAnswers
from gpusched.serve.overtaken import Overtaken
from gpusched.serve.retries import Retries
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter, answer_preempt, answer_prioritize
from gpusched.wire.decision import Decision, Observer
from gpusched.wire.kept_answers import KeptAnswers


def extender_answers(
    cluster: Cluster, decisions: DecisionLog, overtaken: Overtaken, bind: AsyncAnswer
) -> ExtenderAnswers:
    """The answers; `overtaken` is told of filter calls besides."""
    retries, kept = Retries(), KeptAnswers()

    def filter_(body: bytes, observe: Observer) -> bytes:
        def both(decision: Decision) -> None:
            overtaken.asked(decision)
            observe(decision)

        return answer_filter(body, cluster, again=retries.again, observe=both, kept=kept)

    return ExtenderAnswers(
        filter=decisions.watched(filter_),
        prioritize=decisions.watched(lambda body, observe: answer_prioritize(body, cluster, observe=observe)),
        preempt=decisions.watched(lambda body, observe: answer_preempt(body, cluster, observe=observe)),
        bind=bind,
    )
