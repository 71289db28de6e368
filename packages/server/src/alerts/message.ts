import { createHash } from 'node:crypto'
import { type AlertDetail, defined, visible, type WebhookBody } from '@parley/protocol'
import type { Alert } from './find-alerts.ts'

/** The content of an alert. It is sent to each kind of target in a separate format. */
export type Message = {
  readonly id: string
  readonly at: number
  readonly title: string
  readonly text?: string
  readonly link: string
  /** A later message with the same topic replaces this one. */
  readonly topic: string
  readonly urgency: 'high' | 'normal' | 'low'
  /** True if the message only replaces another one, and must not make a sound. */
  readonly isSilent: boolean
  readonly body: WebhookBody
}

/** The message about an alert, with the detail that the target asks for. `url` is the address of the console. */
export function messageAbout(alert: Alert, detail: AlertDetail, url: string): Message {
  const { id, kind, at, subject, session, requestId, turnId, outcome } = alert
  const { title, text } = textOf(alert, detail)
  const link = `${url}/sessions/${encodeURIComponent(session.id)}`
  const about = detail === 'none' ? { id: session.id } : session
  const full = detail === 'full' ? text : undefined
  return {
    ...{ id, at, title, link },
    ...defined({ text }),
    topic: topicOf(subject),
    urgency: kind === 'request.waiting' ? 'high' : kind === 'request.resolved' ? 'low' : 'normal',
    isSilent: kind === 'request.resolved',
    body: {
      type: kind,
      timestamp: new Date(at).toISOString(),
      data: { id, session: about, title, link, ...defined({ requestId, turnId, outcome, text: full }) },
    },
  }
}

export function testMessage(id: string, at: number, url: string): Message {
  const title = 'A test alert of Parley'
  const link = `${url}/settings/notifications`
  return {
    ...{ id, at, title, link },
    text: 'Alerts reach this target.',
    topic: topicOf(id),
    urgency: 'normal',
    isSilent: false,
    body: { type: 'test', timestamp: new Date(at).toISOString(), data: { id, title, link } },
  }
}

/** The title and the text. Hidden characters are made visible. */
function textOf(alert: Alert, detail: AlertDetail): Pick<Message, 'title' | 'text'> {
  const { session, kind, tool, text } = alert
  const name = detail === 'none' ? 'A session' : visible(session.title || 'A session')
  const what = {
    'request.waiting': tool === undefined ? 'needs your answer' : 'needs your approval',
    'request.resolved': resolved(alert, detail),
    'turn.ended': alert.outcome === 'cancelled' ? 'was cancelled' : 'finished',
    'turn.failed': alert.outcome === 'unknown' ? 'was interrupted' : 'failed',
  }[kind]
  const about = detail === 'title' && tool !== undefined ? visible(tool) : undefined
  const shown = detail === 'full' && text !== undefined ? visible(text) : about
  return { title: `${name} ${what}`, ...defined({ text: shown }) }
}

function resolved({ outcome, by }: Alert, detail: AlertDetail): string {
  if (outcome === 'cancelled' || outcome === 'expired') return 'no longer needs an answer'
  return detail === 'none' || by === undefined ? 'was answered' : `was answered by ${visible(by)}`
}

/** A topic for a subject, in characters that push services allow. It does not reveal the subject. */
function topicOf(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url').slice(0, 32)
}
