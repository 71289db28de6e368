/** The settings with which this server is a client of an OpenID provider. */
export type OidcSettings = {
  /** The URL of the provider, whose metadata is at `/.well-known/openid-configuration`. */
  readonly issuer: string
  readonly clientId: string
  /** A file that contains the client secret. Without it, the client is public and relies on PKCE. */
  readonly clientSecretFile?: string
  /** The name of the provider on the button. Default: the host of the issuer. */
  readonly name?: string
}
