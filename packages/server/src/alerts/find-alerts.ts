import {
  type AlertKind,
  defined,
  type EventOf,
  isKnown,
  type SessionEvent,
  type UnknownEvent,
} from '@parley/protocol'

/** An alert before it is addressed to targets. It is stored in each delivery until the delivery is done. */
export type Alert = {
  /** `<session>:<seq>` of the event. */
  readonly id: string
  readonly kind: AlertKind
  readonly at: number
  /** The request or the turn. Alerts about the same request have the same subject. */
  readonly subject: string
  readonly session: { readonly id: string; readonly title: string; readonly agent: string }
  readonly requestId?: string
  readonly turnId?: string
  readonly tool?: string
  /** The text of the request, or the error of a failed turn. At most `longestText` characters. */
  readonly text?: string
  /** The hash of a permission's input. Set only if `text` contains the whole input. */
  readonly inputHash?: string
  readonly outcome?: string
  /** The resolver of a request: the name of a person, or another cause. */
  readonly by?: string
}

export type SessionAbout = Alert['session']

/** The maximum length of `text`. */
export const longestText = 2000

/**
 * Matches the text of every event that can cause an alert, or that decides whether another event causes one. The type
 * of an event is among its first fields.
 */
export const mayMatter =
  /"type":"(permission\.|question\.|turn\.(started|ended)|prompt\.submitted|agent\.disc)/

/**
 * Finds the alerts in consecutive events of one session. Turns that took place in the agent's own program, and requests
 * that a rule or the mode decided, cause no alerts. `isCopy` means that the events directly follow the copied part of a
 * fork: the end of a copied request causes no alert.
 */
export function findAlerts(
  events: readonly (SessionEvent | UnknownEvent)[],
  session: SessionAbout,
  { isCopy = false }: { readonly isCopy?: boolean } = {},
): Alert[] {
  const known = events.filter(isKnown)
  const outsidePrompts = new Set(
    known.flatMap((event) => (event.type === 'prompt.submitted' && event.outside ? [event.promptId] : [])),
  )
  const outsideTurns = new Set(
    known.flatMap((event) =>
      event.type === 'turn.started' && outsidePrompts.has(event.promptId ?? '') ? [event.turnId] : [],
    ),
  )
  const decided = decidedAtOnce(known)
  const alertOf = (event: SessionEvent): Alert | undefined => {
    const base = { id: `${session.id}:${event.seq}`, at: event.at, session }
    switch (event.type) {
      case 'permission.requested':
      case 'question.asked':
        return decided.has(event.requestId) ? undefined : { ...base, ...waitingAlert(event) }
      case 'permission.resolved':
      case 'question.resolved': {
        const isOld =
          isCopy && !known.some((other) => isRequest(other) && other.requestId === event.requestId)
        return decided.has(event.requestId) || isOld ? undefined : { ...base, ...resolvedAlert(event) }
      }
      case 'turn.ended':
        return outsideTurns.has(event.turnId) ? undefined : { ...base, ...endAlert(event) }
      default:
        return undefined
    }
  }
  return known.map(alertOf).filter((alert) => alert !== undefined)
}

type Request = EventOf<'permission.requested'> | EventOf<'question.asked'>
type Resolution = EventOf<'permission.resolved'> | EventOf<'question.resolved'>

function isRequest(event: SessionEvent): event is Request {
  return event.type === 'permission.requested' || event.type === 'question.asked'
}

/** The requests that a rule, the mode or a carried answer resolved at once, without a person. */
function decidedAtOnce(events: readonly SessionEvent[]): ReadonlySet<string> {
  const asked = new Map(events.filter(isRequest).map((event) => [event.requestId, event.seq]))
  return new Set(
    events.flatMap((event) => {
      if (event.type !== 'permission.resolved' && event.type !== 'question.resolved') return []
      return asked.get(event.requestId) === event.seq - 1 && !isAnswer(event) ? [event.requestId] : []
    }),
  )
}

function isAnswer({ by, carriedFrom }: Resolution): boolean {
  return by === 'person' && carriedFrom === undefined
}

type About = Omit<Alert, 'id' | 'at' | 'session'>

function waitingAlert(event: Request): About {
  const { requestId, turnId } = event
  const about = { kind: 'request.waiting', subject: requestId, requestId, ...defined({ turnId }) } as const
  if (event.type === 'question.asked')
    return { ...about, text: cut(event.questions.map(({ text }) => text).join('\n')) }
  const input = inputText(event.input)
  const text = `${event.title}${input === '' || event.title.includes(input) ? '' : `\n${input}`}`
  const isWhole = text.length <= longestText
  return { ...about, tool: event.tool, text: cut(text), ...(isWhole && { inputHash: event.inputHash }) }
}

/** The input of a call as text: the value of its only field, otherwise JSON. */
function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  const values = Object.values(input ?? {})
  const [only] = values
  return values.length === 1 && typeof only === 'string' ? only : (JSON.stringify(input) ?? '')
}

function resolvedAlert(event: Resolution): About {
  const { requestId, turnId, outcome, by, actor } = event
  return {
    kind: 'request.resolved',
    subject: requestId,
    requestId,
    outcome,
    by: actor?.link?.name ?? actor?.person.name ?? by,
    ...defined({ turnId }),
  }
}

function endAlert({ seq, turnId, outcome, error }: EventOf<'turn.ended'>): About {
  const isEnd = outcome === 'completed' || outcome === 'cancelled'
  return {
    kind: isEnd ? 'turn.ended' : 'turn.failed',
    subject: turnId ?? `turn ${seq}`,
    outcome,
    ...defined({ turnId }),
    ...(error && { text: cut(error.message) }),
  }
}

function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText).toWellFormed()} …`
}
