import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'

/** The faults of the provider's next answers. */
export type Fault = {
  /** Claims that replace claims of the ID token; undefined removes a claim. */
  readonly claims?: Record<string, unknown>
  readonly signature?: 'none' | 'other-key'
  /** Parameters that replace parameters of the redirect. */
  readonly redirect?: Record<string, string>
}

type Asked = {
  readonly challenge: string
  readonly nonce: string
  readonly clientId: string
  readonly redirectUri: string
}

/** An OpenID provider on loopback, with the authorization code flow and PKCE. */
export class ProviderUnderTest implements AsyncDisposable {
  readonly clientId = 'parley'
  readonly clientSecret = 'the-secret-of-the-client'
  /** The account that signs in next. */
  account = { sub: 'subject-1', name: 'Ada', email: 'ada@example.org' }
  fault: Fault = {}
  readonly requests: URLSearchParams[] = []
  readonly #codes = new Map<string, Asked>()
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then(({ status = 200, body, location }) => {
      response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    })
  })
  readonly #keys = generateKeyPair('ES256')
  readonly #otherKeys = generateKeyPair('ES256')

  static async start(): Promise<ProviderUnderTest> {
    const provider = new ProviderUnderTest()
    provider.#server.listen(0, '127.0.0.1')
    await once(provider.#server, 'listening')
    return provider
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Signs the account in as a browser would: opens the address and returns the query of the redirect. */
  async signIn(url: string): Promise<string> {
    const answer = await fetch(url, { redirect: 'manual' })
    return new URL(answer.headers.get('location') ?? '').search.slice(1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage): Promise<{ status?: number; body?: unknown; location?: string }> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.issuer)
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return { body: this.#metadata() }
      case '/jwks':
        return {
          body: { keys: [{ ...(await exportJWK((await this.#keys).publicKey)), alg: 'ES256', use: 'sig' }] },
        }
      case '/authorize':
        return { status: 302, location: this.#authorize(searchParams) }
      case '/token':
        return this.#token(new URLSearchParams(await textOf(request)))
      default:
        return { status: 404 }
    }
  }

  #metadata() {
    const { issuer } = this
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    }
  }

  #authorize(asked: URLSearchParams): string {
    this.requests.push(asked)
    const text = (name: string) => asked.get(name) ?? ''
    const code = randomBytes(16).toString('hex')
    const redirectUri = text('redirect_uri')
    this.#codes.set(code, {
      challenge: text('code_challenge'),
      nonce: text('nonce'),
      clientId: text('client_id'),
      redirectUri,
    })
    const query = new URLSearchParams({
      ...{ code, state: text('state'), iss: this.issuer },
      ...this.fault.redirect,
    })
    return `${redirectUri}?${query}`
  }

  async #token(given: URLSearchParams): Promise<{ status?: number; body: unknown }> {
    const code = given.get('code') ?? ''
    const asked = this.#codes.get(code)
    this.#codes.delete(code)
    const proof = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url')
    const isValid =
      asked?.challenge === proof &&
      asked.redirectUri === given.get('redirect_uri') &&
      given.get('client_secret') === this.clientSecret
    if (!asked || !isValid) return { status: 400, body: { error: 'invalid_grant' } }
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: this.issuer, aud: asked.clientId, nonce: asked.nonce, iat: now, exp: now + 60 }
    const payload = JSON.parse(JSON.stringify({ ...claims, ...this.account, ...this.fault.claims }))
    return { body: { access_token: 'x', token_type: 'Bearer', id_token: await this.#signed(payload) } }
  }

  async #signed(payload: JWTPayload): Promise<string> {
    const { signature } = this.fault
    if (signature === 'none') return new UnsecuredJWT(payload).encode()
    const { privateKey } = await (signature === 'other-key' ? this.#otherKeys : this.#keys)
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
