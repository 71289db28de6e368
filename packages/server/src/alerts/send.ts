import { createHmac } from 'node:crypto'
import { messageOf, type WebhookBody } from '@parley/protocol'
import type { Message } from './message.ts'
import type { Answer, SafeRequest } from './safe-request.ts'
import type { TargetData } from './target-data.ts'
import { encryptPush, longestMessage, type PushKey, pushAuthorization } from './web-push.ts'

export type SendResult = {
  readonly ok: boolean
  readonly status?: number
  readonly error?: string
  readonly retryAfterMs?: number
  /** `gone`: the target no longer exists. `never`: another attempt cannot succeed. */
  readonly ends?: 'gone' | 'never'
}

export type SendParts = {
  readonly request: SafeRequest
  readonly pushKey: () => Promise<PushKey>
  /** The https or mailto URL at which the operators of push services can reach the sender. */
  readonly contact: () => string
  readonly now: () => number
  /** The last entry of the ledger, for webhooks. Undefined if the ledger is empty, or if there is no ledger. */
  readonly ledgerHead: () => Promise<LedgerHead | undefined>
}

export type LedgerHead = { readonly n: number; readonly hash: string }

const longestTtlSeconds = 24 * 3600

/** Sends a message to a target, once. Does not reject. */
export async function send(
  parts: SendParts,
  target: TargetData,
  message: Message & { readonly expiresAt: number },
): Promise<SendResult> {
  const { kind, url } = target
  try {
    const content = {
      push: () => pushContent(parts, target, message),
      webhook: async () => ({
        url,
        ...webhookContent(target, withHead(message, await parts.ledgerHead()), parts.now()),
      }),
      ntfy: async () => ntfyContent(target, message),
    }[kind]
    const { url: to, ...sent } = await content()
    return resultOf(await parts.request.post(to, kind === 'push' ? 'push' : 'other', sent), kind)
  } catch (thrown) {
    return { ok: false, error: messageOf(thrown) }
  }
}

function resultOf({ status, retryAfterMs }: Answer, kind: TargetData['kind']): SendResult {
  if (status >= 200 && status < 300) return { ok: true, status }
  const failed = { ok: false, status, error: `The target answered with status ${status}.` } as const
  if (status === 410 || (status === 404 && kind === 'push')) return { ...failed, ends: 'gone' }
  if (status === 413) return { ...failed, ends: 'never' }
  return { ...failed, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

type Content = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Buffer | string
}

async function pushContent(
  { pushKey, contact, now }: SendParts,
  { url, keys }: TargetData,
  message: Message & { readonly expiresAt: number },
): Promise<Content> {
  if (!keys) throw new Error('The push subscription has no keys.')
  const ttl = Math.floor((message.expiresAt - now()) / 1000)
  return {
    url,
    headers: {
      authorization: pushAuthorization(await pushKey(), { endpoint: url, contact: contact(), now: now() }),
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: String(Math.max(0, Math.min(ttl, longestTtlSeconds))),
      topic: message.topic,
      urgency: message.urgency,
    },
    body: encryptPush(pushJson(message), keys),
  }
}

/** A notification as Declarative Web Push defines it. The service worker of other browsers reads the same JSON. */
function pushJson({ title, text, link, topic, isSilent, at }: Message): Buffer {
  const json = (body: string | undefined) =>
    Buffer.from(
      JSON.stringify({
        web_push: 8030,
        notification: {
          title,
          ...(body !== undefined && { body }),
          navigate: link,
          tag: topic,
          timestamp: at,
          ...(isSilent && { silent: true }),
        },
      }),
    )
  for (let length = text?.length ?? 0; ; length = Math.floor(length / 2)) {
    const isCut = length < (text?.length ?? 0)
    const found = json(isCut ? `${text?.slice(0, length).toWellFormed()} …` : text)
    if (found.length <= longestMessage || length === 0) return found
  }
}

/** Adds the head of the ledger. A receiver that stores it can prove later that the ledger was not replaced. */
function withHead({ id, body }: Message, head: LedgerHead | undefined): Pick<Message, 'id' | 'body'> {
  if (!head) return { id, body }
  const { n, hash } = head
  return { id, body: { ...body, data: { ...body.data, ledger: { n, hash } } } }
}

/** A request as the Standard Webhooks specification 1.0 defines it. */
function webhookContent(
  { secret = '' }: TargetData,
  { id, body }: Pick<Message, 'id' | 'body'>,
  now: number,
): Omit<Content, 'url'> {
  const text = JSON.stringify(body satisfies WebhookBody)
  const timestamp = String(Math.floor(now / 1000))
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body: text,
  }
}

/** A message for the topic of an ntfy server. The last part of the path is the topic. */
function ntfyContent({ url, secret }: TargetData, { title, text, link, urgency }: Message): Content {
  const topic = new URL(url)
  const [, path = '/', name = ''] = /^(.*\/)([^/]+)\/*$/.exec(topic.pathname) ?? []
  return {
    url: `${topic.origin}${path}`,
    headers: {
      'content-type': 'application/json',
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({
      topic: decodeURIComponent(name),
      title,
      message: text ?? title,
      click: link,
      priority: urgency === 'high' ? 4 : urgency === 'low' ? 2 : 3,
    }),
  }
}
