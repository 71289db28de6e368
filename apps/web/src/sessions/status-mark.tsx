import type { SessionSummary } from '@parley/protocol'

const names = { idle: 'idle', working: 'working', waiting: 'waits for you', parked: 'waits for you, parked' }

/** The state of a session as one small mark, with its name for those who do not see it. */
export function StatusMark({ status, unread }: { status: SessionSummary['status']; unread: boolean }) {
  const look = {
    working: 'breathe bg-mark',
    waiting: 'bg-wait-fill',
    parked: 'border-2 border-wait-fill',
    idle: unread ? 'bg-mark' : 'bg-transparent',
  }[status]
  const name = status === 'idle' && unread ? 'unread' : names[status]
  return (
    <span className="flex w-4 shrink-0 justify-center pt-[0.4rem]" title={name === 'idle' ? undefined : name}>
      <span className={`size-2 rounded-full ${look}`} />
      {name !== 'idle' && <span className="sr-only">{name}</span>}
    </span>
  )
}
