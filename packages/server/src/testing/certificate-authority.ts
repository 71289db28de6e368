import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A certificate authority for tests; openssl makes the certificates, in files of one folder. */
export class CertificateAuthority {
  readonly #folder: string
  readonly #name: string

  constructor(folder: string, name = 'ca') {
    this.#folder = folder
    this.#name = name
    const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`]
    this.#openssl('req', '-x509', ...newKey, ...files, '-days', '2', '-subj', `/CN=${name}`)
  }

  path(name: string): string {
    return join(this.#folder, name)
  }

  text(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }

  /** Writes `<name>.crt` and `<name>.key`. `validity` are options of `openssl x509`. */
  issue(name: string, extension: string, validity: readonly string[] = ['-days', '2']): void {
    const ca = this.#name
    this.#openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    writeFileSync(this.path(`${name}.ext`), extension)
    const signer = ['-CA', `${ca}.crt`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-extfile', `${name}.ext`]
    this.#openssl('x509', '-req', '-in', `${name}.csr`, ...signer, ...validity, '-out', `${name}.crt`)
  }

  /** The SHA-256 of the public key of a certificate, in the form of Chromium's list of accepted certificates. */
  keyHash(name: string): string {
    const key = this.#openssl('x509', '-in', `${name}.crt`, '-pubkey', '-noout')
    const der = this.#openssl('pkey', '-pubin', '-outform', 'der', { input: key })
    return this.#openssl('dgst', '-sha256', '-binary', { input: der }).toString('base64')
  }

  #openssl(...args: (string | { input: Buffer })[]): Buffer {
    const words = args.filter((one) => typeof one === 'string')
    const [given] = args.filter((one) => typeof one !== 'string')
    return execFileSync('openssl', words, { cwd: this.#folder, stdio: 'pipe', ...given })
  }
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
