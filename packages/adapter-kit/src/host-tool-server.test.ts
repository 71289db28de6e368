import { request } from 'node:http'
import { registerHooks } from 'node:module'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { describe, expect, it } from 'vitest'
import type { HostToolAnswer, HostToolInfo, HostTools } from './agent-adapter.ts'
import { type RunningHostToolServer, startHostToolServer } from './host-tool-server.ts'

// One dependency of the client exports TypeScript under our condition `source`. Node does not run TypeScript in
// node_modules.
registerHooks({
  resolve(specifier, context, next) {
    const conditions = context.conditions.filter((condition) => condition !== 'source')
    return next(specifier, specifier.startsWith('eventsource') ? { ...context, conditions } : context)
  },
})
const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')

type Call = { readonly name: string; readonly input: unknown; readonly signal: AbortSignal }

const info: HostToolInfo = {
  name: 'lookup',
  description: 'Looks a word up.',
  inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  annotations: { title: 'Look a word up', kind: 'read', readOnly: true, safe: false },
}
const words = (text: string): HostToolAnswer => ({ content: [{ type: 'text', text }] })

/** Host tools that record their calls and reply with `answer`. */
function toolsThat(answer: (call: Call) => HostToolAnswer | Promise<HostToolAnswer>) {
  const calls: Call[] = []
  const hostTools: HostTools = {
    tools: [info],
    async call(name, input, { signal }) {
      const call = { name, input, signal }
      calls.push(call)
      return answer(call)
    },
  }
  return { calls, hostTools }
}

async function connected(server: RunningHostToolServer, headers = server.headers) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } })
  await client.connect(transport as Parameters<Client['connect']>[0])
  return { client, [Symbol.asyncDispose]: () => client.close() }
}

const open = async (answer: Parameters<typeof toolsThat>[0] = () => words('a herb')) => {
  const { calls, hostTools } = toolsThat(answer)
  const server = await startHostToolServer(hostTools)
  return { calls, server, [Symbol.asyncDispose]: () => server.close() }
}

describe('host tools over HTTP', () => {
  it('lists the tools with their schema unchanged', async () => {
    await using host = await open()
    await using agent = await connected(host.server)
    const { tools } = await agent.client.listTools()
    expect(tools).toMatchObject([
      {
        name: 'lookup',
        description: 'Looks a word up.',
        inputSchema: info.inputSchema,
        annotations: { title: 'Look a word up', readOnlyHint: true },
      },
    ])
  })

  it('calls a tool with input that only the tool validates', async () => {
    await using host = await open()
    await using agent = await connected(host.server)
    for (const input of [{ word: 'sage' }, { word: 7 }, undefined])
      expect(await agent.client.callTool({ name: 'lookup', ...(input && { arguments: input }) })).toEqual(
        words('a herb'),
      )
    expect(host.calls.map(({ name, input }) => [name, input])).toEqual([
      ['lookup', { word: 'sage' }],
      ['lookup', { word: 7 }],
      ['lookup', {}],
    ])
  })

  it('returns text, images, resources, resource links and failures', async () => {
    await using host = await open(() => ({
      content: [
        { type: 'text', text: 'sage' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'resource', uri: 'note://1', mimeType: 'text/plain', text: 'of the sea' },
        { type: 'resource', uri: 'note://2' },
      ],
      isError: true,
    }))
    await using agent = await connected(host.server)
    expect(await agent.client.callTool({ name: 'lookup' })).toEqual({
      isError: true,
      content: [
        { type: 'text', text: 'sage' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'resource', resource: { uri: 'note://1', mimeType: 'text/plain', text: 'of the sea' } },
        { type: 'resource_link', name: 'note://2', uri: 'note://2' },
      ],
    })
  })

  it('aborts the signal of a call that the agent cancels', async () => {
    const begun = Promise.withResolvers<Call>()
    await using host = await open((call) => {
      begun.resolve(call)
      return new Promise((resolve) => call.signal.addEventListener('abort', () => resolve(words('stopped'))))
    })
    await using agent = await connected(host.server)
    const back = new AbortController()
    const call = agent.client.callTool({ name: 'lookup' }, undefined, { signal: back.signal })
    const { signal } = await begun.promise
    back.abort()
    await expect(call).rejects.toThrow()
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve())
    })
    expect(signal.aborted).toBe(true)
  })

  it('serves several clients at once', async () => {
    await using host = await open(({ input }) => words(JSON.stringify(input)))
    await using one = await connected(host.server)
    await using two = await connected(host.server)
    const answers = await Promise.all(
      [one, two].map(({ client }, index) =>
        client.callTool({ name: 'lookup', arguments: { word: `${index}` } }),
      ),
    )
    expect(answers).toEqual([words('{"word":"0"}'), words('{"word":"1"}')])
  })

  it('aborts running calls and stops listening when it is closed, even twice', async () => {
    const begun = Promise.withResolvers<Call>()
    await using host = await open((call) => {
      begun.resolve(call)
      return new Promise(() => undefined)
    })
    await using agent = await connected(host.server)
    const call = agent.client.callTool({ name: 'lookup' }).catch(() => undefined)
    const { signal } = await begun.promise
    await Promise.all([host.server.close(), host.server.close()])
    expect(signal.aborted).toBe(true)
    await expect(fetch(host.server.url, { method: 'POST' })).rejects.toThrow()
    await agent.client.close()
    await call
  })
})

describe('access to the host tool server', () => {
  const initialise = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  }
  const accept = 'application/json, text/event-stream'
  const post = (url: string, headers: Record<string, string>, body: unknown = initialise) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, ...headers },
      body: JSON.stringify(body),
    })

  it('listens on loopback only, with a new token and port each time', async () => {
    await using one = await open()
    await using two = await open()
    expect(new URL(one.server.url).hostname).toBe('127.0.0.1')
    expect(one.server.url).not.toBe(two.server.url)
    expect(one.server.headers).not.toEqual(two.server.headers)
    expect((await post(two.server.url, one.server.headers)).status).toBe(401)
  })

  it.each<[string, (headers: Readonly<Record<string, string>>) => Record<string, string>, number]>([
    ['accepts a request with the token', (headers) => headers, 200],
    ['rejects a request without the token', () => ({}), 401],
    [
      'rejects a request with a part of the token',
      ({ authorization = '' }) => ({ authorization: authorization.slice(0, -1) }),
      401,
    ],
    [
      'rejects a request from a page in a browser',
      (headers) => ({ ...headers, origin: 'http://127.0.0.1' }),
      403,
    ],
    ['rejects a request for an unknown session', (headers) => ({ ...headers, 'mcp-session-id': 'x' }), 404],
  ])('%s', async (_, headersFrom, status) => {
    await using host = await open()
    const response = await post(host.server.url, headersFrom(host.server.headers))
    await response.text()
    expect(response.status).toBe(status)
  })

  it('rejects a request with another host name', async () => {
    await using host = await open()
    const { url, headers } = host.server
    const status = await new Promise((resolve, reject) => {
      const asked = request(url, { method: 'POST', headers: { ...headers, host: 'rebound.example' } })
      asked.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
      asked.end()
    })
    expect(status).toBe(403)
  })

  it('rejects a request for another path, or before initialize', async () => {
    await using host = await open()
    const { url, headers } = host.server
    expect((await post(`${url}/other`, { ...headers })).status).toBe(404)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect((await post(url, { ...headers }, call)).status).toBe(400)
  })
})
