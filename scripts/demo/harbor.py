"""The result of a trial, as Harbor writes it."""
from model import digest, iso, seconds, when


def result(id, job, trial, start, task, agent, passed, error, phases, ends):
    """`agent` is its name, version, model and provider; `error` the class and the message of an exception, and its time. `phases` are the
    parts of the trial with their first and last second, `ends` its last one. Seconds are those after the start of the agent."""
    at = lambda after: iso(when(start) + seconds(after))[:19]
    name, version, model, provider = agent
    return {
        "id": id, "task_name": task, "trial_name": trial, "trial_uri": f"file:///jobs/{job}/{trial}",
        "task_id": {"path": f"tasks/{task}"}, "source": "tidewater-tasks", "task_checksum": digest(task)[:16],
        "config": {"agent": {"name": name, "model_name": f"{provider}/{model}"}},
        "agent_info": {"name": name, "version": version, "model_info": {"name": model, "provider": provider}},
        "agent_result": {"n_input_tokens": None, "n_cache_tokens": None, "n_output_tokens": None, "cost_usd": None},
        "verifier_result": None if error else {"rewards": {"reward": float(passed)}},
        "exception_info": {"exception_type": error[0], "exception_message": error[1], "exception_traceback": "",
                           "occurred_at": at(error[2])} if error else None,
        "started_at": at(-40), "finished_at": at(ends),
    } | {phase: {"started_at": at(first), "finished_at": at(last)} for phase, (first, last) in phases.items()}
