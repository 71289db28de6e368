import { readdirSync } from 'node:fs'
import { routes } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { signedIn } from './device-under-test.ts'
import { ownPaths, publicAddressOf } from './public-address.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

describe('a public URL', () => {
  it('has an origin, hosts and a prefix', () => {
    expect(publicAddressOf('https://Parley.example/tools/parley/')).toEqual({
      url: 'https://parley.example/tools/parley',
      origin: 'https://parley.example',
      hosts: ['parley.example', 'parley.example:443'],
      prefix: '/tools/parley',
    })
    expect(publicAddressOf('http://10.0.0.1:8080')).toMatchObject({ hosts: ['10.0.0.1:8080'], prefix: '' })
  })

  it.each([
    'parley.example',
    'ftp://parley.example',
    'https://user@parley.example',
    'https://parley.example/?a=1',
    'https://parley.example/#a',
    'https://parley.example/a b',
    'https://parley.example/%41',
    'https://parley.example/"onload',
    'https://parley.example//evil.example',
    'https://parley.example/api',
    'https://parley.example/sessions/parley',
  ])('is refused: %s', (url) => {
    expect(() => publicAddressOf(url)).toThrow(expect.objectContaining({ code: 'validation_error' }))
  })

  it('cannot have a prefix that the server or the console uses itself', () => {
    const first = (path: string) => path.split('/')[1] ?? ''
    const console = readdirSync(new URL('../../../../../apps/web/public', import.meta.url))
    const used = new Set([...Object.values(routes).map(({ path }) => first(path)), ...console])
    for (const path of used) expect(ownPaths, path).toContain(path)
  })
})

describe('a server with a public URL', () => {
  let server: ServerUnderTest
  const url = 'https://parley.example/tools'
  const at = { host: 'parley.example', origin: 'https://parley.example' }
  beforeAll(async () => {
    const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
    server = await serverUnderTest(host, { publicUrl: url })
    afterAll(async () => {
      await server.close()
      await host.close()
    })
  })

  it('uses it in links, and can still be reached at its own address', async () => {
    expect(server.link()).toMatch(/^https:\/\/parley\.example\/tools\/open#[\w-]{43}$/)
    const link = await server.ask('/api/links', { method: 'POST' })
    expect(link.body.url).toMatch(/^https:\/\/parley\.example\/tools\/open#/)
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  })

  it('works whether or not the proxy removes the prefix', async () => {
    for (const path of ['/api/agents', '/tools/api/agents'])
      expect((await server.ask(path, { headers: at })).status, path).toBe(200)
    expect((await server.ask('/toolsapi/agents', { headers: at })).status).toBe(404)
    expect((await server.ask('/tools/tools/api/agents', { headers: at })).status).toBe(404)
  })

  it('accepts exactly its own Host and Origin', async () => {
    const status = async (headers: Record<string, string>) =>
      (await server.ask('/api/agents', { headers })).status
    expect(await status(at)).toBe(200)
    expect(await status({ ...at, host: 'parley.example:443' })).toBe(200)
    expect(await status({ ...at, host: 'parley.example:8443' })).toBe(403)
    expect(await status({ ...at, host: 'evil.example' })).toBe(403)
    expect(await status({ ...at, origin: 'http://parley.example' })).toBe(403)
    expect(await status({ ...at, origin: 'https://parley.example:8443' })).toBe(403)
    expect(await status({ ...at, origin: 'https://parley.example.evil.example' })).toBe(403)
  })

  it('lets no other origin read its answers', async () => {
    const { headers } = await server.ask('/api/agents', { headers: at })
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })

  it('gives access tokens for a signature that names the public origin', async () => {
    const { token } = await signedIn(server, at.origin)
    expect(token).not.toBe('')
  })

  it('can get another public URL from an administrator, until it ends', async () => {
    const body = { url: 'https://other.example/' }
    expect((await server.ask('/api/public-url', { body })).body).toEqual({ url: 'https://other.example' })
    expect(server.link()).toMatch(/^https:\/\/other\.example\/open#/)
    expect((await server.ask('/api/agents', { headers: at })).status).toBe(403)
    expect((await server.ask('/api/public-url', { body: { url: 'https://a/api' } })).status).toBe(400)
    const { headers } = await signedIn(server)
    const reader = await server.ask('/api/tokens', { body: { name: 'reader' }, headers, token: false })
    const asReader = { authorization: `Bearer ${reader.body.token}` }
    expect((await server.ask('/api/public-url', { body, token: false, headers: asReader })).status).toBe(403)
    await server.ask('/api/public-url', { body: { url } })
  })
})
