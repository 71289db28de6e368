import { createClient } from '@parley/client'

/** A third-party page with a token, which shows the results. Its input is in its URL. */
const {
  url = '',
  token = '',
  cwd = '',
  closed = '',
} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
const said = document.getElementById('said') as HTMLElement
const say = (words: string) => {
  said.textContent += `${words}\n`
}

const client = createClient({ url, token: async () => token })
client.socket.onStatus((status) => say(`socket ${status.state}`))
try {
  const { id } = await client.createSession({ agent: 'scripted', cwd, prompt: 'hello' })
  for await (const event of client.events(id)) {
    if (event.type === 'turn.ended') break
  }
  say('the turn ended')
} catch (thrown) {
  say(`refused: ${(thrown as { code?: string }).code}`)
}
/**
 * Connects to a server that does not allow the origin of this page, with the right token and with a wrong
 * token.
 */
for (const given of [token, 'a-token-that-is-not-the-one']) {
  using outsider = createClient({ url: closed, token: given })
  const { promise: known, resolve } = Promise.withResolvers<string>()
  outsider.socket.onStatus((status) => {
    if ('error' in status) resolve(`${status.state}, ${status.error?.code}: ${status.error?.message}`)
  })
  outsider.socket.open()
  say(`${given === token ? 'outsider' : 'stranger outside'} ${await known}`)
}
const stranger = createClient({ url, token: 'a-token-that-is-not-the-one' })
try {
  for await (const _ of stranger.events('ses_any')) break
  say('was let in')
} catch (thrown) {
  say(`stranger refused: ${(thrown as { code?: string }).code}, socket ${stranger.socket.status.state}`)
}
