import { readFile } from 'node:fs/promises'
import { messageOf, ParleyError } from '@parley/protocol'
import * as openid from 'openid-client'
import { isLoopback } from '../authentication.ts'
import type { OidcSettings } from './settings.ts'

/** The secrets of a request. With the state, they bind the answer of the provider to the request. */
export type OidcChecks = { readonly verifier: string; readonly nonce: string }

export type OidcAccount = {
  readonly issuer: string
  readonly subject: string
  /** The name of the person at the provider. It is not unique, and never used to recognise the person. */
  readonly name: string | undefined
}

/** An OpenID provider. This module is loaded only if a provider is configured. */
export type OidcProvider = {
  newChecks(): OidcChecks
  /** The address where the provider asks the person to sign in. */
  address(redirectUri: string, request: OidcChecks & { readonly state: string }): Promise<string>
  /**
   * The account that the provider's answer names. Rejects with ParleyError `unauthorized` if the answer is not valid.
   */
  account(answer: URL, request: OidcChecks & { readonly state: string }): Promise<OidcAccount>
}

export function createOidcProvider(settings: OidcSettings): OidcProvider {
  let found: Promise<openid.Configuration> | undefined
  const configuration = () => {
    found ??= discover(settings)
    found.catch(() => {
      found = undefined
    })
    return found
  }
  return {
    newChecks: () => ({ verifier: openid.randomPKCECodeVerifier(), nonce: openid.randomNonce() }),
    async address(redirectUri, { verifier, nonce, state }) {
      const url = openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid profile',
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return url.href
    },
    async account(answer, { verifier, nonce, state }) {
      const config = await configuration()
      const tokens = await openid
        .authorizationCodeGrant(config, answer, {
          pkceCodeVerifier: verifier,
          expectedNonce: nonce,
          expectedState: state,
          idTokenExpected: true,
        })
        .catch((error: unknown) => {
          throw refused(error)
        })
      const claims = tokens.claims()
      if (!claims) throw refused(new Error('there is no ID token'))
      const { iss: issuer, sub: subject, name } = claims
      return { issuer, subject, name: typeof name === 'string' ? name : undefined }
    },
  }
}

async function discover({ issuer, clientId, clientSecretFile }: OidcSettings): Promise<openid.Configuration> {
  const url = new URL(issuer)
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname)
  const secret = clientSecretFile && (await secretIn(clientSecretFile))
  try {
    const config = await openid.discovery(
      url,
      clientId,
      undefined,
      secret === undefined ? openid.None() : openid.ClientSecretPost(secret),
      { timeout: 10, ...(isLocal && { execute: [openid.allowInsecureRequests] }) },
    )
    // The signature of the ID token is checked although the token comes from the provider over TLS.
    openid.enableNonRepudiationChecks(config)
    return config
  } catch (error) {
    throw new ParleyError(
      'busy',
      `The OpenID provider of this server does not answer as expected (${messageOf(error)}). Try again, or ask an administrator to check its issuer.`,
      { cause: error },
    )
  }
}

async function secretIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const message = 'The file with the client secret of the OpenID provider cannot be read.'
    throw new ParleyError('internal_error', message, { cause: error })
  }
}

function refused(error: unknown): ParleyError {
  return new ParleyError(
    'unauthorized',
    `The OpenID provider did not sign you in (${messageOf(error)}). Try again.`,
    { details: { reason: 'oidc' }, cause: error },
  )
}
