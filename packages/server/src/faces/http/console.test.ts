import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost, createMemoryStore } from '../../index.ts'
import { serverUnderTest } from './server-under-test.ts'

const folder = mkdtempSync(join(tmpdir(), 'parley-page-'))
const consoleFolder = join(folder, 'console')
const builtPage = '<!doctype html><title>The console</title>'
const host = await createHost({ adapters: [], store: createMemoryStore() })

beforeAll(() => {
  mkdirSync(join(consoleFolder, 'assets'), { recursive: true })
  writeFileSync(join(consoleFolder, 'index.html'), builtPage)
  writeFileSync(join(consoleFolder, 'first.js'), 'first()')
  writeFileSync(join(consoleFolder, 'assets/index-a1b2.js'), 'main()')
  writeFileSync(join(consoleFolder, 'assets/secret.txt'), 'not for you')
  writeFileSync(join(folder, 'outside.js'), 'outside()')
})

afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true, force: true })
})

async function served() {
  const server = await serverUnderTest(host, { consoleFolder })
  return {
    server,
    get: (path: string, headers: Record<string, string> = {}) => server.ask(path, { token: false, headers }),
  }
}

describe('the console', () => {
  it('is the same page at each of its URLs, for everybody', async () => {
    const { server, get } = await served()
    for (const path of [
      '/',
      '/open',
      '/new',
      '/inbox',
      '/settings',
      '/settings/keys',
      '/sessions/ses_1',
      '/rounds/rnd_1',
    ]) {
      const page = await get(path)
      expect([path, page.status, page.text]).toEqual([path, 200, builtPage])
    }
    await server.close()
  })

  it('is served as 404 to a browser at an unknown URL; programs get an error', async () => {
    const { server, get } = await served()
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    for (const path of ['/elsewhere', '/new/what', '/sessions/ses_1/x', '/%2e%2e/x', '/apiary']) {
      const page = await get(path, { accept })
      expect([path, page.status, page.text.includes('The console')]).toEqual([path, 404, true])
      expect(String(page.headers['content-security-policy'])).toContain("script-src 'self'")
      expect(JSON.parse((await get(path)).text)).toMatchObject({ error: { code: 'not_found' } })
    }
    for (const path of ['/api/elsewhere', '/api', '/assets/nothing.js']) {
      const answer = await server.ask(path, { headers: { accept } })
      expect([path, answer.status]).toEqual([path, 404])
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'not_found' } })
    }
    const posted = await server.ask('/new', { method: 'POST', headers: { accept } })
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET'])
    await server.close()
  })

  it('allows only its own scripts and styles, and is revalidated each time', async () => {
    const { server, get } = await served()
    const { headers } = await get('/')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(headers['cache-control']).toBe('no-store')
    await server.close()
  })

  it('has assets that are cached for ever and compressed on request', async () => {
    const { server } = await served()
    const asset = await server.ask('/assets/index-a1b2.js', { token: false })
    expect(asset.text).toBe('main()')
    expect(asset.headers).toMatchObject({
      'content-type': 'text/javascript; charset=UTF-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    const response = await fetch(`${server.url}/first.js`, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(await response.text()).toBe('first()')
    await server.close()
  })

  it.each([
    '/assets/secret.txt',
    '/assets/nothing.js',
    '/assets/..%2f..%2foutside.js',
    '/assets/%2e%2e/%2e%2e/outside.js',
    '/..%2foutside.js',
    '/assets/index-a1b2.js%00.svg',
  ])('serves no other file: %s', async (path) => {
    const { server } = await served()
    const answer = await server.ask(path, { token: false })
    expect(answer.status).toBe(404)
    expect(answer.text).not.toMatch(/outside\(|not for you/)
    await server.close()
  })

  it('is a plain page if it was not built', async () => {
    const server = await serverUnderTest(host, { consoleFolder: join(folder, 'nothing') })
    const page = await server.ask('/', { token: false })
    expect(page.status).toBe(200)
    expect(page.text).toContain('The web console is not built')
    const nowhere = await server.ask('/nope', { token: false, headers: { accept: 'text/html' } })
    expect([nowhere.status, nowhere.text.includes('Page not found')]).toEqual([404, true])
    await server.close()
  })
})
