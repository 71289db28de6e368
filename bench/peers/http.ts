import { get } from 'node:http'

/** Sends JSON, and returns the JSON of the answer, or undefined if there is none. */
export async function post<T>(url: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${new URL(url).pathname}: ${response.status} ${text.slice(0, 300)}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export type EventSource = { close(): void }

/**
 * Reads server-sent events, and calls `take` with the JSON of each. Resolves when the server has accepted the request.
 */
export function openEvents(
  url: string,
  take: (data: unknown) => void,
  headers: Record<string, string> = {},
): Promise<EventSource> {
  const { promise, resolve, reject } = Promise.withResolvers<EventSource>()
  const request = get(url, { headers: { accept: 'text/event-stream', ...headers } }, (response) => {
    if (response.statusCode !== 200) return reject(new Error(`GET ${url}: ${response.statusCode}`))
    resolve({ close: () => request.destroy() })
    let rest = ''
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      rest += text
      let from = 0
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', from)) {
        const json = dataOf(rest.slice(from, end))
        from = end + 2
        if (json !== '') take(JSON.parse(json))
      }
      rest = rest.slice(from)
    })
    response.on('error', () => undefined)
  })
  request.on('error', reject)
  return promise
}

function dataOf(event: string): string {
  return event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
    .join('\n')
}
