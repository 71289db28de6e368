import { isInBackground, type PlanEntry, type Task } from '@parley/protocol'
import { Circle, CircleCheck, CircleDot, CircleSlash } from 'lucide-react'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { useStopTasks } from '../session-data/stop-turn.ts'

export default function PlanPanel() {
  const plan = useSessionState((state) => state.plan)
  const tasks = useSessionState((state) => state.tasks)
  const done = plan.filter((entry) => entry.status === 'completed').length
  return (
    <div className="flex flex-col gap-4 px-4 py-3 text-sm">
      {plan.length === 0 && tasks.length === 0 && <p className="text-soft">No plan in this session.</p>}
      {plan.length > 0 && (
        <section aria-label="Steps">
          <p className="pb-1.5 text-xs text-faint tabular-nums">
            {done} of {plan.length} done
          </p>
          <ol className="flex flex-col gap-1.5">
            {plan.map((entry, index) => (
              <PlanRow key={entry.id ?? index} entry={entry} />
            ))}
          </ol>
        </section>
      )}
      {tasks.length > 0 && (
        <section aria-label="Tasks">
          <h3 className="pb-1.5 text-xs text-faint">Tasks</h3>
          <ul className="flex flex-col gap-1.5">
            {tasks.map((task) => (
              <TaskRow key={task.taskId} task={task} />
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

const marks = {
  completed: <CircleCheck size={15} className="text-good" aria-label="done" />,
  'in-progress': <CircleDot size={15} className="breathe text-mark" aria-label="in progress" />,
  pending: <Circle size={15} className="text-faint" aria-label="to do" />,
  cancelled: <CircleSlash size={15} className="text-faint" aria-label="dropped" />,
}

function PlanRow({ entry }: { entry: PlanEntry }) {
  return (
    <li className="flex items-start gap-2">
      <span className="mt-0.5 shrink-0">{marks[entry.status]}</span>
      <span className={entry.status === 'completed' || entry.status === 'cancelled' ? 'text-faint' : ''}>
        {visible(entry.text)}
      </span>
    </li>
  )
}

const taskMarks = {
  running: marks['in-progress'],
  completed: marks.completed,
  failed: <CircleSlash size={15} className="text-bad" aria-label="failed" />,
  stopped: marks.cancelled,
}

function TaskRow({ task }: { task: Task }) {
  const stop = useStopTasks()
  const prompts = useMay('prompt')
  const note = task.parked ? 'Needs your answer' : (task.reason && reasons[task.reason]) || task.summary
  return (
    <li className="flex items-start gap-2">
      <span className="mt-0.5 shrink-0">{taskMarks[task.status]}</span>
      <span className="min-w-0 flex-1">
        {visible(task.title)}
        {isInBackground(task) && <span className="text-xs text-faint"> in the background</span>}
        {note && <span className="block text-xs text-soft">{visible(note)}</span>}
      </span>
      {prompts && isInBackground(task) && (
        <button
          type="button"
          className="shrink-0 rounded px-1.5 py-0.5 text-xs font-medium text-soft hover:bg-hover pointer-coarse:min-h-11"
          aria-label={`Stop ${visible(task.title)}`}
          onClick={() => stop(task.taskId)}
        >
          Stop
        </button>
      )}
    </li>
  )
}

/** The reason why Parley recorded the end of a task, as text. */
const reasons: Readonly<Record<NonNullable<Task['reason']>, string>> = {
  limit: 'Stopped: it reached a time limit',
  closed: 'Stopped',
  'agent-lost': 'Stopped: the agent process ended',
  'server-stopped': 'Stopped: the server was stopped',
  'server-killed': 'Stopped: the server exited unexpectedly',
  restarted: 'Started again',
  denied: 'Stopped: its request was denied',
  'turn-end': 'Ended with its turn',
}
